/* Any bytes as a tree: what is taken is sound, in order, and is taken again as the same when it is written out. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "workspace/compare.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct tree tree = {0};
    struct err err = {0};
    if (tree_parse((const char *)bytes, size, &tree, &err) < 0) {
        if (!*err.message)
            abort();
        return 0;
    }
    for (size_t i = 0; i < tree.entries.count; i++) {
        const struct entry *entry = &tree.entries.at[i];
        if (!tree_path_is_sound(entry->path) || tree_find(&tree, entry->path) != entry)
            abort();
    }
    change_list changes;
    compare_trees(&tree, &tree, &changes);
    if (changes.count)
        abort();
    vec_free(&changes);
    tree_free(&tree);
    return 0;
}
