/*
 * bawn starts this program for a connection of git to a repository that a `forge` rule names, with the
 * descriptors of its settings, of git inside, of ssh's three streams, and of its link to bawn. forge.h says
 * how it works.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "forge/forge.h"
#include "policy/host.h"

int main(int argument_count, char **arguments)
{
    enum { SETTINGS, CLIENT, TO_SSH, FROM_SSH, SSH_SAYS, LINK, COUNT };
    int fds[COUNT] = {0};
    bool is_called = argument_count == COUNT + 1 && strcmp(arguments[0], FORGE_PROGRAM) == 0;
    for (int i = 0; is_called && i < COUNT; i++) {
        uint16_t number;
        is_called = port_parse(arguments[i + 1], &number); /* bawn passes no descriptor above 65535 */
        fds[i] = number;
    }
    if (!is_called) {
        fputs("bawn-forge reads what git pushes from a sandbox; bawn starts it when needed.\n", stderr);
        return 2;
    }
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGPIPE, &ignore, NULL);
    struct forge_settings settings = {0};
    struct forge_ends ends = {fds[CLIENT], fds[TO_SSH], fds[FROM_SSH], fds[SSH_SAYS], fds[LINK]};
    struct err err = {0};
    if (forge_settings_read(fds[SETTINGS], &settings, &err) < 0 || forge_confine(&err) < 0)
        return 1;
    return forge_relay(&settings, &ends);
}
