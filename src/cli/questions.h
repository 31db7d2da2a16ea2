/* The open questions of all sessions, as `bawn requests` and `bawn answer` deal with them (cmd_requests.c). */
#pragma once

#include "cli/choose.h"

enum asked_field {
    FIELD_ID,
    FIELD_KIND,
    FIELD_OBJECT,
    FIELD_SECONDS,
    FIELD_PID,
    FIELD_PROGRAM,
    FIELD_WARNING,
    FIELD_BECAUSE,
    FIELD_SAYS,
    FIELD_PARENTS,
    FIELD_NOT_NOW,
    FIELD_COUNT
};

struct asked {
    const char *session;
    const char *fields[FIELD_COUNT];
};
typedef VEC(struct asked) asked_list;

/* The open questions of all sessions that answer; one that has just ended has none. Returns the exit status. */
int asked_find(const struct world *world, struct loaded *loaded, asked_list *ret_list);

/* Is it the question that a word names: SESSION/ID, or ID? */
bool asked_has_name(const struct asked *asked, const char *word);

/*
 * Adds questions with what is known of them; the journals of earlier sessions are looked at. Lines are wrapped here, narrower than any screen, and what
 * continues one has a mark before it: words from inside cannot make a line that looks like bawn's.
 */
void asked_add_text(const struct world *world, struct loaded *loaded, const struct asked *all, size_t count,
                    struct buf *out);

/* The rule that an answer adds to a policy, "connect example.com:443"; NULL: none. */
const char *asked_rule(struct arena *arena, const struct asked *asked, const char *word);

/* Does the workspace have a .bawn that is trusted, so that a rule could go there? */
bool asked_repository_is_trusted(struct loaded *loaded, const char *workspace);

/* How the person answers here, for the journal: what bawn told this process when it started it, or `usual`. */
const char *asked_way(const struct world *world, const char *usual);

/*
 * Gives the answer: once, session, always, no, never. `repository` gets the rule, or the user's own policy if it is NULL. Returns the exit
 * status.
 */
int asked_answer(const struct world *world, struct loaded *loaded, const struct asked *asked,
                 const char *word, const char *way, const char *repository);

/* questions_follow.c: shows questions as they come, and takes answers of one key on a terminal. `only`: one question, and then
 * the end, or with `goes_on` the others that are open; or NULL. */
int questions_follow(const struct world *world, const char *only, bool goes_on);
