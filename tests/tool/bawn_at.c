/*
 * bawn, looking at a made-up file system:
 *
 *     bawn-at ROOT DIRECTORY [NAME=VALUE]... -- ARGUMENT...
 *
 * ROOT is what the policy sees as "/", DIRECTORY (absolute below it) the current directory, the variables the whole
 * environment. So a golden test means the same on every machine.
 */
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "cli/world.h"

/* 16 GiB, an ordinary user, every wall and no control group. */
static void look_at_machine(wall_set asked, struct machine *ret_machine)
{
    (void)asked;
    *ret_machine = (struct machine){.memory = UINT64_C(16) << 30};
}

/* On a machine without this file, bawn is not visible inside. */
static const char *own_path(struct arena *arena)
{
    (void)arena;
    return "/usr/bin/bawn";
}

int main(int count, char **arguments)
{
    int separator = 3;
    while (separator < count && strcmp(arguments[separator], "--") != 0)
        separator++;
    if (count < 4 || separator == count) {
        fputs("usage: bawn-at ROOT DIRECTORY [NAME=VALUE]... -- ARGUMENT...\n", stderr);
        return 2;
    }
    auto_fd int root_fd = open(arguments[1], O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root_fd < 0) {
        perror(arguments[1]);
        return 2;
    }
    arguments[separator] = NULL;
    struct world world = {
        .caller = {.root_fd = root_fd,
                   .directory = arguments[2],
                   .environment = (const char *const *)arguments + 3,
                   .look_at_machine = look_at_machine,
                   .own_path = own_path},
        .in = stdin,
        .out = stdout,
        .err = stderr,
    };
    world_set_speaker(&world);
    /* bawn_main skips the program's name: the emptied place of the separator stands for it. */
    return bawn_main(&world, count - separator, arguments + separator);
}
