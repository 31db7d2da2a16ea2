/* The {NAMES} in the words of a case. */
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "prove/sensors.h"

struct name {
    const char *name, *value;
    const char *lacks; /* why there may be none */
};

static const char *number(struct arena *arena, long long value)
{
    return value ? arena_printf(arena, "%lld", value) : NULL;
}

const char *fill(const struct targets *targets, const struct sensors *sensors, const char *text,
                 const char **ret_lacks)
{
    struct arena *arena = targets->arena;
    size_t token_half = strlen(targets->token) / 2;
    const struct name names[] = {
        {"home", targets->home, ""},
        {"ws", targets->project, ""},
        {"user_home", targets->user_home, ""},
        {"mark", targets->mark, ""},
        {"token", targets->token, ""},
        {"token_half", arena_copy(arena, targets->token, token_half), ""},
        {"token_other_half", targets->token + token_half, ""},
        {"victim", number(arena, sensors->victim), "there is no process to attack"},
        {"victim_half", arena_copy(arena, targets->mark, 8), ""},
        {"victim_other_half", arena_printf(arena, "%s-victim", targets->mark + 8), ""},
        {"host_tmp", targets->tmp, ""},
        {"host_var_tmp", targets->var_tmp, ""},
        {"runtime", targets->runtime, "there is no XDG_RUNTIME_DIR here"},
        {"run_socket", targets->run_socket, "you cannot write a decoy in /run"},
        {"ipc_key", number(arena, targets->ipc_key), ""},
        {"tcp_port", number(arena, sensors->tcp_port), "there is no IPv4 on this machine"},
        {"tcp6_port", number(arena, sensors->tcp6_port), "there is no IPv6 on this machine"},
        {"udp_port", number(arena, sensors->udp_port), "there is no IPv4 on this machine"},
        {"cgroup_procs", "/sys/fs/cgroup/cgroup.procs", ""},
    };
    auto_buf struct buf out = {0};
    while (*text) {
        const char *end = *text == '{' ? strchr(text, '}') : NULL;
        if (!end) {
            buf_add_char(&out, *text++);
            continue;
        }
        size_t size = (size_t)(end - text) - 1, i = 0;
        while (i < array_len(names) &&
               (strlen(names[i].name) != size || strncmp(names[i].name, text + 1, size) != 0))
            i++;
        if (i == array_len(names) || !names[i].value) {
            if (ret_lacks)
                *ret_lacks = i == array_len(names) ? "it needs something that this test does not set up"
                                                   : names[i].lacks;
            return NULL;
        }
        buf_add_str(&out, names[i].value);
        text = end + 1;
    }
    return arena_str(arena, buf_text(&out));
}
