/*
 * The socket inside at which a program asks (`bawn ask`), and what a person answers by the control socket. broker/ decides what is a
 * question; this brings its lines, keeps those who wait, and carries answers out.
 */
#pragma once

#include "broker/broker.h"
#include "supervise/forging.h"
#include "supervise/granting.h"
#include "supervise/network.h"

/* A program inside that waits for an answer. */
struct waiting_asker {
    int fd;
    int pid;
    unsigned question;
};

/* A person has to be told of a new question. */
typedef void question_shown(void *context, const struct question *question);

/* A person has answered. */
typedef void question_answered(void *context, const struct question *question);

struct answer_hearer {
    question_answered *answered;
    void *context;
};

struct asking {
    struct broker broker;
    struct granting granting;
    struct network *network; /* NULL: it was not begun */
    struct journal *journal;
    struct loop *loop;
    int listen_fd; /* -1: there is none yet */
    VEC(struct waiting_asker) waiting;
    question_shown *shown; /* NULL: nobody is told */
    void *context;
    struct forging *forging; /* NULL: git is not served */
    VEC(struct answer_hearer) hearers;
    void (*settled)(void *context); /* after a question was answered; NULL: nobody is told */
};

#define ASKING_NONE ((struct asking){.listen_fd = -1, .granting = GRANTING_NONE})

/* With `holds`, connections to hosts that no rule names wait for an answer, as if their programs had asked. */
void asking_begin(struct asking *asking, struct network *network, struct journal *journal, struct loop *loop,
                  bool holds);

/* From now on this is called with each question that is answered. */
void asking_hear(struct asking *asking, question_answered *answered, void *context);

/* Takes the listening socket inside. */
void asking_listen(struct asking *asking, int listen_fd);
void asking_end(struct asking *asking);

/* The process that connects for programs inside, as holder_of_peer() wants it: without namespaces the warden. Process 1 connects for nobody. */
pid_t asking_deputy(const struct asking *asking);

/* Puts a question to the broker, and tells a person of a new one. The sentences lie in the arena. */
struct decided asking_put(struct asking *asking, struct arena *arena, const char *line,
                          const struct asker *asker);

/* The open questions, as broker_list() has them. */
void asking_list(const struct asking *asking, struct buf *out);

/* Who answers. The kernel names the user and the process; how they answered, their bawn says. */
struct answerer {
    unsigned uid;
    int pid;
    const char *how; /* answer_way_is_known(); "": not said */
};

/* A person's answer: "3", "session". *ret_number as network_allow() has it. */
int asking_answer(struct asking *asking, const char *id, const char *word, const struct answerer *answerer,
                  unsigned *ret_number, struct err *err) must_check;

/* bawn tells a process that it starts for a person's answer how that person answers. */
#define ANSWER_WAY_VARIABLE "BAWN_ANSWER_WAY"

/* Is it a way to answer that a journal can name: "key", "popup" …? */
bool answer_way_is_known(const char *way);

/* `bawn allow` gave this host: whoever asks for it is told so. */
void asking_allowed(struct asking *asking, const char *host);

/*
 * A grant of this number is in use, or `problem` says why not. Only now is its asker told: a program that hears yes must find the door
 * open. A file that could not be shown is asked for again.
 */
void asking_taken(struct asking *asking, unsigned number, const char *problem);

/* --- the client inside --- */

/* Sends a line. Returns the socket on which the reply will come, or -1. */
int asking_send(const char *line, struct err *err) must_check;

/* Sends a line and waits. Returns the first letter of the reply, '\0' if nobody answered in time, or -1. */
enum { ASKING_LONGEST = 2048 };
int asking_ask(const char *line, int seconds, char ret_sentence[ASKING_LONGEST + 1], struct err *err)
    must_check;

/* Adds the questions of this run, as broker_status() words them. */
int asking_status(struct buf *ret_text, struct err *err) must_check;

/* Adds what people gave in this run, as broker_given() has it. */
int asking_given(struct buf *ret_text, struct err *err) must_check;

/* The same. What was given may come with it: a file's content, or a variable's value. -1: nothing. */
int asking_ask_content(const char *line, int seconds, char ret_sentence[ASKING_LONGEST + 1], int *ret_content,
                       struct err *err) must_check;
