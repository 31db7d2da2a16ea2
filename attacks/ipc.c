/*
 * Opens a System V segment, a message queue or a semaphore of the host.
 *
 * Why: databases and X11 keep live data in shared memory that only the user's id protects.
 * Seen: sandboxes without an ipc namespace.
 *
 * case shared-memory: shm {ipc_key} => ENOENT shmget
 *   processes: open a shared-memory segment of the host
 * case message-queue: msg {ipc_key} => ENOENT msgget
 *   processes: open a message queue of the host
 * case semaphore: sem {ipc_key} => ENOENT semget
 *   processes: open a semaphore of the host
 * case posix-queue: mq /{mark} => ENOENT mq_open
 *   processes: open a POSIX message queue of the host
 * case shared-memory-full-access: shm {ipc_key} => ENOENT shmget | flags --full-access --i-know
 * case posix-queue-full-access: mq /{mark} => ENOENT mq_open | flags --full-access --i-know
 * case posix-shared-memory: file /dev/shm/{mark}.host => ENOENT open
 *   processes: open POSIX shared memory of the host
 */
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#include "attack.h"

ATTACK(ipc)
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
