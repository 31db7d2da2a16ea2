/*
 * bawn-forge stands between git inside and the user's ssh outside, one process for each connection. It has the two ends, the rules for
 * this repository, and nothing else: no file, no socket of its own, no key. The supervisor starts it and ssh side by side.
 *
 * Theory of operation. Bytes for git pass as they are. For a fetch, bytes for the server do too: the server's own command
 * (git-upload-pack) writes nothing. For a push, these are the states:
 *
 *   READING    the commands are read (git/push.h). Nothing of them has reached the server.
 *   PROVING    each update without push+force needs a proof that it is a fast-forward. git inside is asked for the commits between the two,
 *              whose hashes prove it. What git sends meanwhile waits, up to a limit.
 *   PASSING    every command may pass. They were written anew, and the pack passes as it is.
 *   REFUSING   at least one may not. The server gets an empty list of commands. git's pack is read and dropped, because git would
 *              otherwise not read the answer; then git gets the refusal in the form that a server gives it.
 *
 * Invariants:
 *   1. No byte of a push reaches ssh before all of its commands were judged.
 *   2. The server gets either all commands or none.
 *   3. Whatever is malformed, too long or out of turn ends the connection.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "git/push.h"
#include "kernel/relayed.h"

struct forge_settings {
    struct arena arena;
    bool is_push;
    VEC(struct push_rule) rules;
};

/* The lines of the supervisor: "fetch" or "push", then "rule LETTERS REF…" for each rule; a letter is f, d, o for a right, or -. */
int forge_settings_read(int fd, struct forge_settings *settings, struct err *err) must_check;

struct forge_ends {
    int client; /* a stream socket: records (kernel/relayed.h) */
    int to_ssh, from_ssh, ssh_says;
    int link; /* to the supervisor: one line a message, for its journal */
};

/* Returns the exit status. */
int forge_relay(const struct forge_settings *settings, struct forge_ends *ends);

/* confine.c: gives up all but reading and writing open descriptors. */
int forge_confine(struct err *err) must_check;
