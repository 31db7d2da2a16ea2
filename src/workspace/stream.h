/*
 * Visits the files of a tree one by one, in walk order, and stores their contents. A scan keeps every entry; this keeps the
 * names of the directories on the way to the current file, and the hard links. So the size of the tree does not matter,
 * and a child with little memory can read it.
 */
#pragma once

#include "base/progress.h"
#include "content/store.h"
#include "workspace/tree.h"

/* The entry and its strings are valid during the call. */
typedef int stream_visit(void *context, const struct entry *entry, struct err *err);

struct stream_request {
    int top_fd;
    const char
        *start; /* the directory in the tree whose content is visited; "" for the top. Paths begin with it */
    struct store *store;
    stream_visit *visit;
    void *context;
    struct progress *progress; /* may be NULL */
};

/* Stops at the first visit that fails. Entries that cannot be read have CONTENT_LEFT_OUT. */
int stream_tree(const struct stream_request *request, struct err *err) must_check;
