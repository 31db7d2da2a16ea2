/*
 * bawn starts this program twice for a run whose policy has a `secret` rule: as the front, with the
 * descriptors of the settings, of its link to bawn, of the network helper and of the back; and as the back,
 * with those of the settings, of its link and of the front. vault.h says how they work together. It also
 * starts it twice for a connection to the ssh agent inside: with the descriptors of the connection and of the
 * back; and with those of the settings, of its link, of the front and of the user's agent (agent.h).
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "kernel/process.h"
#include "vault/agent.h"
#include "vault/vault.h"

static bool parse_descriptors(int count, char **arguments, int *ret_fds)
{
    for (int i = 0; i < count; i++) {
        uint16_t number;
        if (!port_parse(arguments[i], &number)) /* bawn passes no descriptor above 65535 */
            return false;
        ret_fds[i] = number;
        fcntl(number, F_SETFD, FD_CLOEXEC);
    }
    return true;
}

int main(int argument_count, char **arguments)
{
    enum { SETTINGS, LINK, OTHER, BACK, MOST };
    int fds[MOST];
    bool is_front = argument_count == 5 && strcmp(arguments[0], VAULT_FRONT) == 0;
    bool is_back = argument_count == 4 && strcmp(arguments[0], VAULT_BACK) == 0;
    bool is_agent_front = argument_count == 3 && strcmp(arguments[0], AGENT_FRONT) == 0;
    bool is_agent_back = argument_count == 5 && strcmp(arguments[0], AGENT_BACK) == 0;
    bool is_known = is_front || is_back || is_agent_front || is_agent_back;
    if (!is_known || !parse_descriptors(argument_count - 1, arguments + 1, fds)) {
        fputs("bawn-vault keeps secrets outside the sandbox; bawn starts it when needed.\n", stderr);
        return 2;
    }
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGPIPE, &ignore, NULL);
    if (is_agent_front)
        return agent_front_run(fds[0], fds[1]);
    if (is_agent_back)
        return agent_back_run(fds[0], fds[1], fds[2], fds[3]);
    process_raise_descriptors(); /* a connection takes three */
    static struct vault_settings settings;
    struct err err = {0};
    if (settings_read(fds[SETTINGS], &settings, &err) < 0)
        return 1;
    return is_front ? front_run(&settings, fds[LINK], fds[OTHER], fds[BACK])
                    : back_run(&settings, fds[LINK], fds[OTHER]);
}
