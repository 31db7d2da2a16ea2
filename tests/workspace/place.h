/* A tree and a store in a temporary folder, on a tmpfs where there is one. */
#pragma once

#include "arbitrary.h"
#include "workspace/snapshot.h"

static struct {
    char base[64], tree[80], store[80];
} place;

static inline void place_make(void)
{
    const char *where = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(place.base, sizeof(place.base), "%s/bawn-workspace-XXXXXX", where);
    if (!mkdtemp(place.base))
        abort();
    snprintf(place.tree, sizeof(place.tree), "%s/tree", place.base);
    snprintf(place.store, sizeof(place.store), "%s/store", place.base);
    mkdir(place.tree, 0755);
}

static inline void place_remove(void)
{
    remove_all(place.base);
}

static inline int snapshot_within(struct tree *ret_tree, const struct tree *start, size_t most_entries)
{
    struct snapshot_request request = {.directory = place.store,
                                       .workspace = place.tree,
                                       .most_bytes = UINT64_MAX,
                                       .most_entries = most_entries,
                                       .start = start,
                                       .folder_fd = -1};
    struct err err = {0};
    int result = snapshot_take(&request, ret_tree, &err);
    if (result < 0)
        printf("# %s\n", err.message);
    return result;
}

static inline int snapshot(struct tree *ret_tree)
{
    return snapshot_within(ret_tree, NULL, 0);
}

static inline uint64_t number_from(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

/* How many random cases: each run takes others, so that `make test` tries few and `make test-all` many. */
static inline uint64_t cases_from(const char *variable, uint64_t few, uint64_t many)
{
    const char *layer = getenv("BAWN_LAYER");
    return number_from(variable, layer && strcmp(layer, "all") == 0 ? many : few);
}
