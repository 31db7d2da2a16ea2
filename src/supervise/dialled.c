#include "supervise/dialled.h"

#include <string.h>

#include "base/ssh_proof.h"
#include "policy/ssh_key.h"

const char *dialled_host_text(struct arena *arena, const struct host_object *host)
{
    return host_with_port(arena, host_text(arena, host), host->port);
}

/* As the list of rules has it; NULL: it is not there. */
static const char *find_host(const struct dialled *dialled, const char *text)
{
    for (size_t i = 0; i < dialled->hosts.count; i++) {
        if (strcmp(dialled->hosts.at[i], text) == 0)
            return dialled->hosts.at[i];
    }
    return NULL;
}

void dialled_begin(struct dialled *dialled, struct arena *arena, const struct plan *plan)
{
    vec_each (const struct operation, operation, &plan->operations) {
        const struct ssh_key_object *key = operation->kind == OP_SSH_KEY ? operation->because->ssh_key : NULL;
        for (size_t i = 0; key && i < key->host_count; i++) {
            const char *text = dialled_host_text(arena, &key->hosts[i]);
            if (!find_host(dialled, text))
                vec_push(&dialled->hosts, text);
        }
    }
}

void dialled_take(struct dialled *dialled, const char *host, const char *mark)
{
    struct dialled_connection connection = {.host = find_host(dialled, host)};
    if (!connection.host || !ssh_proof_is_mark(mark))
        return;
    memcpy(connection.mark, mark, sizeof(connection.mark));
    if (dialled->kept.count < DIALLED_KEPT) {
        vec_push(&dialled->kept, connection);
        return;
    }
    dialled->kept.at[dialled->oldest] = connection;
    dialled->oldest = (dialled->oldest + 1) % DIALLED_KEPT;
}

const char *dialled_find(const struct dialled *dialled, const char *mark)
{
    const char *found = NULL;
    vec_each (const struct dialled_connection, connection, &dialled->kept) {
        if (strcmp(connection->mark, mark) != 0)
            continue;
        if (found && found != connection->host)
            return NULL;
        found = connection->host;
    }
    return found;
}

void dialled_free(struct dialled *dialled)
{
    vec_free(&dialled->hosts);
    vec_free(&dialled->kept);
}
