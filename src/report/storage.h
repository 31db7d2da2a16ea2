/* What bawn stores for a user: where it lies, how much room it takes, and how to delete it. */
#pragma once

#include "base/style.h"
#include "base/vec.h"
#include "kernel/usage.h"
#include "policy/policy.h"

struct stored {
    const char *path;
    const char *what;
    const char *remedy; /* a line for a shell that deletes some of it; NULL: there is none */
    struct usage usage;
    bool is_part; /* of the last one before it that is none */
};

typedef VEC(struct stored) stored_list;

/* Looks at the directories that the request names, and at those that runs made elsewhere. What is not there is left out. */
void storage_find(const struct policy_request *request, struct arena *arena, stored_list *ret_all);

void storage_add(struct buf *out, const struct style *style, const stored_list *all, bool as_json);
