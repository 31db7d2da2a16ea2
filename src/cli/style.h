/* How text looks to a person: colours on a terminal only, paths with ~, sentences on standard error. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "cli/world.h"
#include "policy/diag.h"

enum colour { COLOUR_PLAIN, COLOUR_BOLD, COLOUR_DIM, COLOUR_RED, COLOUR_GREEN, COLOUR_YELLOW };

struct style {
    bool colours;
    const char *home; /* shown as ~; may be NULL */
};

struct style style_for_out(const struct world *world);
struct style style_for_err(const struct world *world);

/* Adds text in a colour, control characters made visible. Returns the columns it takes. */
size_t style_add(const struct style *style, struct buf *buf, enum colour colour, const char *text);

/* The same for a path, with the home directory shown as ~. */
size_t style_add_path(const struct style *style, struct buf *buf, enum colour colour, const char *path);

/* The path as style_add_path shows it, for sentences. */
const char *style_path(const struct style *style, struct arena *arena, const char *path);

/* "48 KiB" */
const char *size_text(struct arena *arena, uint64_t size);

/* Writes the whole buffer, whatever bytes it holds. */
void put(FILE *stream, const struct buf *buf);

/* Puts a question to the person at the terminal; anything but yes is no. */
bool ask(const struct world *world, const char *question);
void ask_begin(const struct world *world, const char *question); /* the same in two steps */
bool ask_end(const struct world *world);

/* "bawn: SENTENCE. HINT." on standard error. */
void say_problem(const struct world *world, const char *message, const char *hint);
void say_err(const struct world *world, const struct err *err);

/* All that is wrong with a policy, as a compiler reports it. */
void say_diags(const struct world *world, const struct style *style, const struct diags *diags);
