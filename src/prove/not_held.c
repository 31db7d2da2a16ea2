/*
 * What walls on Landlock alone do not promise. This list and the table in docs/LANDLOCK.md are the same;
 * tests/bare compares them with what `bawn prove` finds.
 */
#include <string.h>

#include "prove/proof.h"

static const struct {
    const char *attack, *name; /* of the program, or of the case; NULL: any */
    const char *why;
} limits[] = {
    {"same_file", NULL,
     "Landlock hides no name: whether a file is there, its size and its dates stay visible"},
    {NULL, "find-host-process",
     "all processes of the machine stay visible in /proc, with their command lines"},
    {NULL, "list-init-fds", "the numbers of a process's descriptors stay visible to its user"},
    {NULL, "host-name", "the machine's name is that of all programs"},
    {NULL, "control-group", "the names of control groups are those of all programs"},
    {NULL, "cap-bounding",
     "an ordinary user cannot empty the bounding set; no_new_privs keeps a program from gaining what is in it"},
    {NULL, "userns-limit", "the number is the machine's; seccomp refuses to make a namespace"},
    {NULL, "process-limit",
     "this number is the user's; `limit pids` is held by a control group, or by bawn if you set it"},
    {NULL, "inotify-limit", "the user's programs share one number of watches"},
};

const char *proof_not_held(void *context, const struct attack_case *attack)
{
    const struct proof_context *proof = context;
    for (size_t i = 0; proof->plan->request.on == ON_LANDLOCK && i < array_len(limits); i++) {
        if ((!limits[i].attack || strcmp(limits[i].attack, attack->attack) == 0) &&
            (!limits[i].name || strcmp(limits[i].name, attack->name) == 0))
            return limits[i].why;
    }
    return NULL;
}
