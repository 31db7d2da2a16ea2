/*
 * Theory of operation
 *
 * Turns what a run wanted and did not get (journal/wants.h) into proposals: lines of a policy, each with what it gives away.
 * Reads the host's file system through the policy's view, changes nothing, and decides nothing: a person picks the lines.
 *
 *   judge.c     what one want would need: a line, or the reason why there is none
 *   used.c      what programs outside run or obey
 *   profiles.c  which profile would grant it
 *   fold.c      many files of one directory become the directory
 *   propose.c   the order: judge, fold, replace by profiles, rank
 *   show.c      the proposals as text, as JSON, and as a profile
 *
 * The command wrote the list of wants by what it opened, so a hostile one writes what it likes. These hold whatever it writes:
 *
 *   1. What a seal, a hide, a freeze, a refuse or a lock decides is never proposed, only listed with the rule.
 *   2. A path that leads through a symlink in a tree that the command can write is never proposed: the link could lead
 *      elsewhere tomorrow. Other paths are judged by where they really lead.
 *   3. The root directory, a directory below it, the home directory and what contains a workspace are never proposed. Neither is
 *      writing what programs outside run or obey, as the policies, the profiles and the gate know it, nor a directory with such a place in it.
 *   4. A directory is proposed with the number of files in it. If the run wanted less than half of many, it is PROPOSAL_WIDE, as is
 *      whatever a profile of services gives: only a person's own choice writes such a line.
 *   5. A line is proposed only if the parser reads it back as one rule.
 */
#pragma once

#include "base/style.h"
#include "journal/wants.h"
#include "policy/policy.h"
#include "policy/profile.h"

#define PROPOSAL_CLASSES(X)                                                                                  \
    X(PROPOSAL_NEEDED, "needed")                                                                             \
    X(PROPOSAL_WIDE, "wide")       /* gives much more than was wanted */                                     \
    X(PROPOSAL_WENT_ON, "went-on") /* the programs ended well without it */                                  \
    X(PROPOSAL_PROBE, "probe")     /* only looked for, never opened */                                       \
    X(PROPOSAL_NEVER, "not-proposed")

enum proposal_class { PROPOSAL_CLASSES(ID_OF) PROPOSAL_CLASS_COUNT };

const char *proposal_class_name(enum proposal_class value);

struct proposal {
    enum proposal_class class;
    enum verb verb;     /* VERB_NONE: there is no line */
    const char *object; /* the path, host or other thing; printable only after escaping */
    const char *line;   /* of a policy; NULL: there is no line */
    const char *gives;  /* what the line gives away, or why there is none: a sentence without its period */
    const char
        *by_hand; /* where there is no line: what a person writes who wants it anyway; NULL: nothing helps */
    const char *program; /* the first that wanted it; "": not known */
    enum want_ending ending;
    uint64_t times;
    size_t wanted;     /* objects that the line stands for */
    bool is_directory; /* of a path */
    bool is_look;      /* nothing but a look was wanted */
    bool is_picked;    /* for a dialogue */
};

struct learnt {
    struct arena *arena;
    VEC(struct proposal) list; /* by class, the most useful first */
    uint64_t left_out;         /* objects that were not recorded */
};

/* Makes the proposals. The policy is the one that would apply to the next run. */
void learn(const struct policy *policy, const struct profile_finder *finder, const struct wants *wants,
           struct learnt *ret_learnt);
void learnt_free(struct learnt *learnt);
#define auto_learnt __attribute__((cleanup(learnt_free)))

/* The number of proposals of a class. */
size_t learnt_count(const struct learnt *learnt, enum proposal_class class);

/* One proposal in two or three lines, with its number. */
void proposal_add_text(const struct proposal *proposal, size_t number, const struct style *style,
                       struct buf *out);

/* All of them, class by class. `session` is named in what to type next; NULL: nothing is to be typed. */
void learnt_add_text(const struct learnt *learnt, const char *session, const struct style *style,
                     struct buf *out);
void learnt_add_json(const struct learnt *learnt, const char *session, struct buf *out);

/* A profile of the picked lines. */
void learnt_add_profile(const struct learnt *learnt, const char *about, const char *match, struct buf *out);
