/* What the files of this room share. learn.h has the theory. */
#pragma once

#include "learn/learn.h"

typedef VEC(struct proposal) proposal_list;

/* judge.c: what the want needs. Returns false if it needs nothing: the policy gives it already, or nobody could. */
bool judge_want(const struct policy *policy, struct arena *arena, const struct want *want,
                struct proposal *ret_proposal);

/* judge.c: judges a directory or file that was not wanted itself; false: it must not be proposed. */
bool judge_may_propose(const struct policy *policy, struct arena *arena, enum verb verb, const char *path);

/* judge.c: sets the line from verb and object. A line that the parser does not take makes the proposal PROPOSAL_NEVER. */
void proposal_spell(const struct policy *policy, struct arena *arena, struct proposal *proposal);

/* fold.c: merges wants of the same line, and files of one directory into the directory. Says how wide a directory is. */
void fold(const struct policy *policy, struct arena *arena, proposal_list *list);

/* fold.c: adds what was wanted of `from` to `to`. */
void proposal_merge(struct proposal *to, const struct proposal *from);

/* profiles.c: replaces proposals by a profile that grants the same. */
void use_profiles(const struct policy *policy, const struct profile_finder *finder, struct arena *arena,
                  proposal_list *list);
