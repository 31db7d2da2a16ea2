/*
 * Decoys: where well-known secrets would lie, a read-only folder stands whose files say in a comment that they are none.
 * Who reads one, or lists its folder, has gone where no honest work goes: that is a tripwire, and a tripwire is no wall.
 *
 * The same set for everybody, whatever the host has: so they reveal nothing. They stand only where no tool looks by
 * itself, since each has to mean something.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { DECOY_FILES_MOST = 8 };

/*
 * Files that programs open by themselves (ssh its settings) are empty and raise nothing; they are there so that the
 * host's own can be shown in their place.
 */
struct decoy_file {
    const char *name;
    bool is_empty;
};

struct decoy {
    const char *name;                              /* of its operation */
    const char *place;                             /* below the home */
    struct decoy_file files[DECOY_FILES_MOST + 1]; /* ended by one without a name */
};

enum { DECOY_COUNT = 6 };
extern const struct decoy decoys[DECOY_COUNT];

/* What the files hold. Every line is a comment to the programs that would read such a file. */
extern const char decoy_text[];

/* By the name of its operation; DECOY_COUNT where there is none. */
size_t decoy_find(const char *name);

/* Does the decoy have a file of this name? NULL where it has none. */
const struct decoy_file *decoy_file(const struct decoy *decoy, const char *name);
