/*
 * The socket inside at which a program asks (`bawn ask`), and what a person answers by the control socket. broker/ decides what is a
 * question; this brings its lines, keeps those who wait, and carries answers out.
 */
#pragma once

#include "broker/broker.h"
#include "supervise/network.h"

/* A program inside that waits for an answer. */
struct waiting_asker {
    int fd;
    unsigned question;
};

/* A person has to be told of a new question. */
typedef void question_shown(void *context, const struct question *question);

struct asking {
    struct broker broker;
    struct network *network; /* NULL: it was not begun */
    struct journal *journal;
    struct loop *loop;
    int listen_fd; /* -1: there is none yet */
    VEC(struct waiting_asker) waiting;
    question_shown *shown; /* NULL: nobody is told */
    void *context;
};

#define ASKING_NONE ((struct asking){.listen_fd = -1})

/* With `holds`, connections to hosts that no rule names wait for an answer, as if their programs had asked. */
void asking_begin(struct asking *asking, struct network *network, struct journal *journal, struct loop *loop,
                  bool holds);

/* Takes the listening socket inside. */
void asking_listen(struct asking *asking, int listen_fd);
void asking_end(struct asking *asking);

/* The open questions, as broker_list() has them. */
void asking_list(const struct asking *asking, struct buf *out);

/* A person's answer: "3 session". *ret_number as network_allow() has it. */
int asking_answer(struct asking *asking, const char *id, const char *word, unsigned *ret_number,
                  struct err *err) must_check;

/* The client inside: sends a line and waits. Returns the first letter of the reply, '\0' if nobody answered in time, or -1. */
enum { ASKING_LONGEST = 2048 };
int asking_ask(const char *line, int seconds, char ret_sentence[ASKING_LONGEST + 1], struct err *err)
    must_check;
