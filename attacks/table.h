/* What `embed` makes of the attacks' headers. */
#pragma once

struct attack {
    const char *name;
    int (*run)(int argc, char **argv);
};

/* Ended by an empty one. */
extern const struct attack attacks[];

/*
 * The cases that `bawn prove` runs, ended by NULL. Fields with tabs between: name, attack, promise, sentence, arguments,
 * results, options, and of the attack's header: what it does, why, where it was seen.
 */
extern const char *const catalogue[];
