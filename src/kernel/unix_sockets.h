/*
 * Unix sockets of this network namespace that have a path, by the names they were bound to. A list is a sequence of names, each
 * ended by a NUL, then an empty one. A server's name is listed once more for each client.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"

/*
 * The sockets as the kernel lists them now. Fails if the kernel does not answer, because that does not mean that there are
 * none.
 */
int unix_sockets_read(struct arena *arena, const char **ret_list, struct err *err) must_check;

/*
 * The paths of sockets that were bound by a relative name: the kernel does not keep the directory. They are looked for in the trees of a
 * list, and in the directories where processes of this user are now, so that one whose server has left its directory is missed.
 */
const char *unix_sockets_find_relative(struct arena *arena, const char *trees) returns_text;

/* Numbers that change when a socket is opened or closed. Connections to one do not change them. */
struct socket_digest {
    uint64_t in_trees; /* of sockets whose name is relative or lies beneath a path of a list */
    uint64_t all;
};

/* Returns false if the kernel does not answer. */
bool unix_sockets_digest(const char *trees, struct socket_digest *ret_digest);

/* Takes the next name of a list; NULL at its end. A name may be relative, to any directory. */
const char *unix_sockets_next(const char **list);

/* The list that the text of /proc/net/unix makes. */
const char *unix_sockets_of_text(struct arena *arena, const char *text) returns_text;

/*
 * The process of a sandbox that has a socket or file open, as /proc shows it outside. For people to read: a process that shares
 * or has closed the descriptor may be missed or confused with another. The search is bounded.
 */
struct holder {
    pid_t pid;
    char program[32]; /* its own name: any bytes */
};

/* `first`: the ancestor of all processes of the sandbox; `port`: where the socket is bound. False: not known. */
bool holder_find(pid_t first, bool is_stream, uint16_t port, struct holder *ret_holder);

/* The process of a thread, if it is below the first one. */
bool holder_find_thread(pid_t first, uint64_t thread, struct holder *ret_holder);

/* The same for an open file, by its name in /proc as seen inside: "/home/me/.ssh/id_rsa". */
bool holder_find_open(pid_t first, const char *target, struct holder *ret_holder);

/* Fills in the program of a process whose number is known; "" if it is gone. */
void holder_read_program(struct holder *holder);

/*
 * The process that connected a Unix socket; without a number if it has ended. The deputy (0: there is none) connects for others: the process is the
 * one that it has noted.
 */
struct holder holder_of_peer(int socket_fd, pid_t deputy);

/* For a deputy, before it connects: notes for which process, in the name of its own socket. Returns -1 with errno set. */
int holder_note(int socket_fd, pid_t process) must_check;

/*
 * The programs that started it, the nearest first, up to the process `last` and without it: "bash < node". Their own names: any bytes.
 */
enum { PARENTS_LONGEST = 256 };
void holder_read_parents(const struct holder *holder, pid_t last, char ret_names[PARENTS_LONGEST]);

/* Its command line, cut to the room; any bytes. False: not known. */
bool holder_read_command(const struct holder *holder, char *ret_line, size_t capacity);
