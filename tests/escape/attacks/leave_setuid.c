/*
 * Leaves a program with the setuid bit in the workspace, for an accomplice on the host to run.
 *
 * Why: files in the workspace belong to the caller, also when the caller is root. Whoever runs this one is the caller.
 * Seen: Nix builds (CVE-2024-27297's neighbours) since when its sandbox refuses chmod with these bits.
 *
 * case leave-setuid: 4755 => EPERM chmod | harms workspace | todo hardening that no document promises yet
 * case leave-setgid: 2755 => EPERM chmod | harms workspace | todo hardening that no document promises yet
 */
#include <sys/stat.h>

#include "attack.h"

int main(int argc, char **argv)
{
    mode_t mode = (mode_t)strtoul(argument(argc, argv, 1), NULL, 8);
    must(chmod("work", mode), "chmod");
    done();
}
