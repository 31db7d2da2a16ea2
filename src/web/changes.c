#include "web/changes.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/text.h"

bool changes_open(struct visit *visit, const char *session, struct changes *ret_changes)
{
    struct err ignored = {0};
    auto_fd int fd = visit_session(visit, session);
    *ret_changes = CHANGES_NONE;
    if (fd < 0 || tree_load(fd, "before", &ret_changes->before, &ignored) <= 0 ||
        tree_load(fd, "after", &ret_changes->after, &ignored) <= 0 ||
        store_open(visit->web->place->store, &ret_changes->store, &ignored) < 0)
        return false;
    compare_trees(&ret_changes->before, &ret_changes->after, &ret_changes->list);
    compare_find_renames(&ret_changes->list);
    ret_changes->patch = (struct patch){.store = &ret_changes->store, .arena = &visit->arena};
    ret_changes->state = record_trees_state(&visit->arena, fd);
    return true;
}

void changes_close(struct changes *changes)
{
    vec_free(&changes->list);
    store_close(&changes->store);
    tree_free(&changes->before);
    tree_free(&changes->after);
}

const struct change *changes_named(const struct visit *visit, const struct changes *changes)
{
    const char *at = visit_query(visit, "id");
    uint64_t number;
    bool is_number = text_take_number(&at, &number) && !*at;
    return is_number && number < changes->list.count ? &changes->list.at[number] : NULL;
}

bool change_has_hunks(const struct change *change)
{
    return change->before && change->after && S_ISREG(change->before->mode) && S_ISREG(change->after->mode) &&
           change->what & CHANGE_CONTENT && !change->renamed;
}
