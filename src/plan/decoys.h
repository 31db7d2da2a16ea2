/*
 * Decoys: read-only folders where well-known secrets would be. A comment in each file says that it is a decoy. Honest work does
 * not read these files or list their folders, so an access is reported. A tripwire is not a wall.
 *
 * Everybody gets the same decoys, so they reveal nothing about the host. They are only where no tool looks by itself, so that
 * each report has a meaning. One has a *canary*: a key in the right format that opens nothing, another one in each session. If it is found in
 * a request, a decoy was read and sent.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { DECOY_FILES_MOST = 8 };

/*
 * Files that programs open by themselves (ssh its settings) are empty and not watched; the host's file can be shown in their
 * place.
 */
struct decoy_file {
    const char *name;
    bool is_empty;
    bool has_canary;
};

struct decoy {
    const char *name;                              /* the name of its operation */
    const char *place;                             /* below the home */
    struct decoy_file files[DECOY_FILES_MOST + 1]; /* ended by an empty entry */
};

enum { DECOY_COUNT = 6 };
extern const struct decoy decoys[DECOY_COUNT];

/* The content of the files, but for a canary. Every line is a comment for the programs that read such a file. */
extern const char decoy_text[];

/* A key of Amazon's format. */
struct canary {
    char id[20 + 1], secret[40 + 1];
};

/* Makes one of random bytes. */
enum { CANARY_RANDOM = 56 };
void canary_make(const unsigned char random[CANARY_RANDOM], struct canary *ret_canary);

/* What follows decoy_text in the file that has the canary. */
enum { CANARY_TEXT_SIZE = 160 };
void canary_write(const struct canary *canary, char ret_text[CANARY_TEXT_SIZE]);

/* The path of that file below the home, where the decoy is shown. */
#define CANARY_DECOY "aws"
#define CANARY_PLACE "~/.aws/credentials"

/* Finds a decoy by the name of its operation; DECOY_COUNT: none. */
size_t decoy_find(const char *name);

/* The decoy's file of this name, or NULL. */
const struct decoy_file *decoy_file(const struct decoy *decoy, const char *name);
