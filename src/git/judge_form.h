/* Forms of files in a git directory: does the whole content have it? For the judge, and for those who compare refs. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"

typedef bool git_form(struct bytes text);

git_form git_form_head;
git_form git_form_ref;
git_form git_form_no_refs;
git_form git_form_pseudo_ref;
git_form git_form_position;
git_form git_form_positions;
git_form git_form_packed_refs;
git_form git_form_reflog;
git_form git_form_fetched;
git_form git_form_text;
git_form git_form_merge_mode;
git_form git_form_conflicts;

struct git_entry;

/* judge_store.c: a path below objects/, whose first bytes are known as far as git_store_wants() says. NULL: inert. */
const char *git_store_judge(const struct git_entry *entry, const char *path);
size_t git_store_wants(const char *path);

/* judge_store.c: may a directory of this path lie below objects/? */
bool git_store_has_directory(const char *path);
