/*
 * Kept proofs: a folder each below STATE/bawn/proofs, whose name is its time. The actor makes it; the server reads it.
 *
 *   about        the program and the workspace, a line each
 *   lines        what `bawn prove --follow --json` prints as it goes; after its end a line of the actor's: PROOF_END and its exit status.
 *                It is locked while the proof runs: one that is not, and has no such line, was cut off
 *   report.html  the page of the report
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "web/html.h"
#include "web/web.h"

#define PROOF_LINES  "lines"
#define PROOF_REPORT "report.html"
#define PROOF_END    "\x1e"

enum { MOST_PROOFS = 50 };

/* --- the actor's side --- */

/* Makes the folder of a new proof, and removes the oldest ones. Returns the locked file of its lines. */
int proof_begin(struct arena *arena, const struct web_place *place, const char *program,
                const char *directory, const char **ret_name, struct err *err) must_check;

/* Notes the end. */
void proof_end(int lines_fd, int status);

/* --- the server's side --- */

struct kept_proof {
    const char *name, *program, *workspace;
    bool is_running, has_report;
    bool has_ended;      /* the exit status is known … */
    int status;          /* … and it is this */
    const char *summary; /* "277 attacks: 235 held …"; "": none */
};

typedef VEC(struct kept_proof) proof_list;

/* The latest first. */
void proofs_find(const struct web_place *place, struct arena *arena, proof_list *ret_list);

/* The folder of a proof by its name, or -1. */
int proof_open(const struct web_place *place, const char *name);

/* Looks at one. Returns false if there is none. Its lines are added to the buffer. */
bool proof_look(const struct web_place *place, struct arena *arena, const char *name, struct buf *ret_lines,
                struct kept_proof *ret_proof);

/* One line as a row of a table; nothing for the line of the end. Returns false for that one. */
bool proof_add_row(struct html *page, struct arena *arena, const char *line, size_t size);
