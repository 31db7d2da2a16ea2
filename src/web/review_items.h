/* The items of a review, as `bawn review --json` lists them. */
#pragma once

#include "base/json.h"
#include "web/visit.h"

/* One of the files that an item is about. */
struct review_member {
    size_t id;
    const char *path;
};

struct review_item {
    size_t id;
    const char *path, *letter, *renamed_from;
    size_t changes;
    bool is_repository, can_merge;
    VEC(struct review_member) members; /* if there are several, and they are no repository's */
    VEC(const char *) reasons;
    const char *conflict;               /* NULL: it is none */
    const char *yours, *base, *session; /* of a conflict; NULL: not short texts */
};

struct review_list {
    const char *state;
    bool is_live;
    VEC(struct review_item) items;
    VEC(struct form_field) held; /* path and why */
};

/* Returns false where the text is no such list. */
bool review_list_parse(struct arena *arena, const char *text, size_t size, struct review_list *ret_list);
void review_list_free(struct review_list *list);
