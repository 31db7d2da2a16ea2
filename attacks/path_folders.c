/*
 * Are there folders in PATH that the sandbox does not show?
 *
 * Why: a folder that is missing inside but named first can be made inside, and then decides what every command means.
 * Seen: PATH entries below the home, such as ~/.cargo/bin, where the private home is writable.
 *
 * case path-is-visible: => all there | control ~missing
 */
#include <sys/stat.h>

#include "attack.h"

ATTACK(path_folders)
{
    char path[8192];
    const char *value = getenv("PATH");
    snprintf(path, sizeof(path), "%s", value ? value : "");
    for (const char *folder = strtok(path, ":"); folder; folder = strtok(NULL, ":")) {
        struct stat status;
        if (stat(folder, &status) == 0 && S_ISDIR(status.st_mode))
            continue;
        printf("missing: %s\n", folder);
        return 0;
    }
    saw("all there");
}
