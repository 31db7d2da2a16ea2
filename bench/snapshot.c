/* Takes a snapshot of a workspace and nothing else: snapshot STORE WORKSPACE. For bench-workspace. */
#include <stdio.h>

#include "workspace/snapshot.h"

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    struct arena arena = {0};
    struct skips skips;
    skips_parse(&arena, NULL, &skips);
    struct snapshot_request request = {.directory = argv[1],
                                       .workspace = argv[2],
                                       .skips = &skips,
                                       .most_bytes = UINT64_MAX,
                                       .folder_fd = -1};
    struct tree tree = {0};
    struct err err = {0};
    int result = snapshot_take(&request, &tree, &err);
    if (result < 0)
        fprintf(stderr, "snapshot: %s\n", err.message);
    tree_free(&tree);
    skips_free(&skips);
    arena_free(&arena);
    return result < 0;
}
