#include "session/run_parts.h"

static int may_give(void *context, const char *path, struct err *err)
{
    struct run *run = context;
    return hold_may_give(&run->guard.hold, path, err);
}

/* Watches the new tree as those of the plan. */
static int note_given(void *context, const struct given_tree *given, const given_places *places,
                      struct err *err)
{
    struct run *run = context;
    return guard_give(&run->guard, given, places, err);
}

void run_begin_granting(struct run *run)
{
    struct granting *granting = &run->asking.granting;
    granting->may_write = may_give;
    granting->shown = note_given;
    granting->run = run;
    granting->launch = &run->launch;
    granting->launched = &run->launched;
    granting->keeps_aside = run->request.review || run->request.discard;
    granting->counts_disk = run->disk.most != UINT64_MAX;
}
