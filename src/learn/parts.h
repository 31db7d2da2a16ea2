/* What the files of this room share. learn.h has the theory. */
#pragma once

#include "base/map.h"
#include "learn/learn.h"

typedef VEC(struct proposal) proposal_list;

/* A place that programs outside use. */
struct used {
    const struct rule *rule; /* which says so */
    const char *path;        /* absolute, without symlinks; a pattern if has_wildcard */
    const char *fixed;       /* the directory of a pattern before its first wildcard; else the path */
    bool has_wildcard, is_deep;
};

/* What a proposal is judged by. */
struct judge {
    const struct policy *policy;
    struct arena *arena;
    VEC(struct used) used;
    struct map directories; /* those that were looked through → struct of the reason, or of NULL */
    size_t left;            /* how many more entries of directories are looked at */
};

/* used.c: reads the places that programs outside use. The finder's profiles are those that could be used. */
void judge_begin(struct judge *judge, const struct policy *policy, const struct profile_finder *finder);
void judge_end(struct judge *judge);

/* used.c: why nobody should let a command write there: programs outside run it or obey it. NULL: none is known. */
const char *judge_used_outside(const struct judge *judge, const char *path, bool is_directory);

/* used.c: the same for what lies in a directory, or could. */
const char *judge_used_within(struct judge *judge, const char *directory);

/* used.c: the seal of a profile that is not in use; NULL: there is none. */
const char *judge_unused_seal(const struct judge *judge, const char *path);

/* judge.c: what the want needs. Returns false if it needs nothing: the policy gives it already, or nobody could. */
bool judge_want(struct judge *judge, const struct want *want, struct proposal *ret_proposal);

/* judge.c: judges a directory or file that was not wanted itself; false: it must not be proposed. */
bool judge_may_propose(struct judge *judge, enum verb verb, const char *path);

/* judge.c: sets the line from verb and object. A line that the parser does not take makes the proposal PROPOSAL_NEVER. */
void proposal_spell(const struct policy *policy, struct arena *arena, struct proposal *proposal);

/* fold.c: merges wants of the same line, and files of one directory into the directory. Says how wide a directory is. */
void fold(struct judge *judge, proposal_list *list);

/* fold.c: adds what was wanted of `from` to `to`. */
void proposal_merge(struct proposal *to, const struct proposal *from);

/* profiles.c: replaces proposals by a profile that grants the same. */
void use_profiles(const struct policy *policy, const struct profile_finder *finder, struct arena *arena,
                  proposal_list *list);
