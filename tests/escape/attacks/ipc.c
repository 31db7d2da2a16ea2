/*
 * Opens a System V segment, a message queue or a semaphore of the host.
 *
 * Why: databases and X11 keep live data in shared memory that only the user's id protects.
 * Seen: sandboxes without an ipc namespace.
 *
 * case shared-memory: shm {ipc_key} => ENOENT shmget
 * case message-queue: msg {ipc_key} => ENOENT msgget
 * case semaphore: sem {ipc_key} => ENOENT semget
 * case posix-queue: mq /{mark} => ENOENT mq_open
 * case shared-memory-full-access: shm {ipc_key} => ENOENT shmget | flags --full-access --i-know
 * case posix-queue-full-access: mq /{mark} => ENOENT mq_open | flags --full-access --i-know
 * case posix-shared-memory: file /dev/shm/{mark}.host => ENOENT open
 */
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#include "attack.h"

int main(int argc, char **argv)
{
    const char *act = argument(argc, argv, 1);
    if (strcmp(act, "mq") == 0)
        must(mq_open(argument(argc, argv, 2), O_RDONLY), "mq_open");
    else if (strcmp(act, "file") == 0)
        must(open(argument(argc, argv, 2), O_RDONLY), "open");
    else if (strcmp(act, "shm") == 0)
        must(shmget((key_t)number_argument(argc, argv, 2), 0, 0), "shmget");
    else if (strcmp(act, "msg") == 0)
        must(msgget((key_t)number_argument(argc, argv, 2), 0), "msgget");
    else
        must(semget((key_t)number_argument(argc, argv, 2), 0, 0), "semget");
    done();
}
