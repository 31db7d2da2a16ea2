/* The front of one connection to bawn's ssh agent: reads what the sandbox sends, and has nothing that the sandbox does not have. */
#include <sys/socket.h>
#include <sys/time.h>

#include "vault/agent.h"
#include "vault/vault.h"

enum { PATIENCE = 300, MOST_REQUESTS = 1024 }; /* seconds; of a connection */

static bool serve(int client_fd, int back_fd)
{
    auto_buf struct buf message = {0}, record = {0};
    if (!agent_receive(client_fd, &message))
        return false;
    struct agent_request request = agent_read(bytes_of(message.bytes, message.size));
    agent_add_record(&request, &record);
    return agent_send(back_fd, bytes_of(record.bytes, record.size)) && agent_receive(back_fd, &message) &&
           agent_send(client_fd, bytes_of(message.bytes, message.size));
}

int agent_front_run(int client_fd, int back_fd)
{
    struct err err = {0};
    struct timeval patience = {.tv_sec = PATIENCE};
    if (setsockopt(client_fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
        setsockopt(client_fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0 ||
        confine(false, &err) < 0)
        return 1;
    size_t requests = 0;
    while (requests < MOST_REQUESTS && serve(client_fd, back_fd))
        requests++;
    return 0;
}
