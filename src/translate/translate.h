/*
 * Other tools' formats. Exports a plan to them, and imports their files as lines of a policy.
 *
 * Everything here is a function from text and data to text: it prints nothing, runs nothing and opens no file. No format says
 * exactly what a policy says, so each translation lists what is lost. An export takes the narrower choice wherever it has
 * one: a list of hosts becomes "no network" for a tool that knows no names, never "every host".
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "plan/plan.h"

/* What a translation loses. Only a lost refusal lets a command do what bawn would have refused. */
enum lost_kind { LOST_REFUSAL, LOST_GRANT, LOST_OTHER, LOST_COUNT };

struct lost {
    enum lost_kind kind;
    const char *text; /* printable, one line */
};

struct translation {
    struct buf text;
    VEC(struct lost) lost;
    bool says_losses; /* the text begins with them, as comments; false: the format has no comments */
};

/* Translates to the format of this name. Returns -1 if there is no such format. */
int export_plan(struct arena *arena, const struct plan *plan, const char *name, struct translation *ret,
                struct err *err) must_check;

/*
 * Translates a file of another tool into lines of a policy. `text` ends with a NUL that `size` does not count; `name` is the file's. A format of
 * NULL is found from both. Returns -1 if the text is not in the format. On success and on failure *ret must be freed.
 */
int import_policy(struct arena *arena, const char *name, const char *text, size_t size, const char *format,
                  struct translation *ret, struct err *err) must_check;

/* Adds what was lost, in one section for each kind; each line begins with `leader`. */
void lost_add_text(const struct translation *translation, const char *leader, struct buf *out);

bool lost_any_refusal(const struct translation *translation);

void translation_free(struct translation *translation);
#define auto_translation __attribute__((cleanup(translation_free)))
