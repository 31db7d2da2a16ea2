/*
 * Asks for the machine's name, or for the control group that it is in.
 *
 * Why: the name of a machine says whose it is and where it stands, and the path of a control group which session, service or
 * pod: both are what an intruder reports home first, and neither is a project's business.
 * Seen: `hostname` and /proc/self/cgroup are in nearly every published script that takes stock of a container.
 *
 * case host-name: name => bawn | control ~
 *   files: learn the name of this machine
 * case control-group: group => nothing but / | control ~/
 *   processes: learn which control group of the machine it is in
 */
#include "attack.h"

ATTACK(machine_name)
{
    char line[4096] = "";
    if (strcmp(argument(argc, argv, 1), "name") == 0) {
        must(gethostname(line, sizeof(line) - 1), "gethostname");
        saw(line);
    }
    FILE *groups = fopen("/proc/self/cgroup", "re");
    must(groups ? 0 : -1, "open");
    while (fgets(line, sizeof(line), groups)) {
        char *path = strrchr(line, ':');
        if (path && strcmp(path, ":/\n") != 0)
            saw(strtok(path + 1, "\n"));
    }
    saw("nothing but /");
}
