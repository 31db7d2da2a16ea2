/*
 * A person's answer at a terminal: one key. Every question of bawn's at a terminal goes through here: those of programs inside (`bawn requests`, prompt and
 * popup), flagged files at the end of a run, and all yes or no. An answer on the page or by a button does not come from a terminal.
 *
 * Theory of operation
 *
 * A program that can write to a terminal can make it type. The terminal answers queries (its name, its settings, the place of the cursor), and these
 * answers have letters in them. A command has the terminal during the run, and bawn asks there. What the command wrote last, the terminal may answer
 * after the run's end. So a person's answer is taken in these steps; where one fails, all begin again:
 *
 *   STILL    Every running session whose command has this terminal stops everything inside (supervise/control.c, "still"). In a multiplexer also the
 *            session that asks: it may pass queries on to the terminal around it.
 *   RAW      The terminal's modes are set, all of them: a command can have changed which bytes arrive.
 *   SHOWN    The question is written, behind what ends an unfinished control string, invisible letters and clicks of the mouse.
 *   DRAINED  bawn moves the cursor to places that nobody can guess, and asks where it is. The terminal answers in order: what came before these answers was
 *            asked for by others, or typed before the question was there. It is dropped, however much it is. One of the places is the corner of the
 *            screen as the kernel has its size, so that a size that a command has set is found out.
 *   QUIET    A second passes without a key, where a command is or was, and for questions from inside: a person may be typing for it. So it is before each
 *            key that counts, also after one that meant nothing.
 *   KEY      One key counts, if it comes alone. Control strings are read to their ends and ignored (base/keyboard.h).
 *   KEPT     Each of the sessions says that nothing inside has run since STILL, and the terminal has the modes and the size that it had at RAW. If
 *            not, the key is dropped.
 *
 * Invariants
 *
 *   1. Where a command has the terminal, or had it just now (`had_command`), a step that fails ends the question without an answer: KEY_UNSURE, and the
 *      person is told. Elsewhere a terminal that does not answer (a pipe of `script`, an editor's) is only waited for, for a moment.
 *   2. Between two questions, while a person is away, and whenever bawn is stopped, everything inside goes on, and the terminal has its own modes.
 *   3. Nobody's byte is believed twice: what was read for one question is gone before the next one is drawn.
 *
 * What this does not hold: something outside that copies the command's output to the terminal (`bawn … | tee log`) may be late with it. Of what the
 * terminal answers then, only KEY keeps it from counting.
 */
#pragma once

#include <sys/ioctl.h>
#include <sys/types.h>
#include <termios.h>

#include "base/keyboard.h"
#include "base/vec.h"
#include "cli/world.h"

enum {
    KEY_CANCEL = 3, /* Ctrl-C, or Escape */
    KEY_END = 4,    /* Ctrl-D, or the terminal is gone */
    KEY_UNSURE = 5, /* no key can be trusted here: the person was told */
};

struct answering {
    const struct world *world;
    FILE *out;           /* where questions are shown */
    int fd;              /* the terminal; -1: there is none */
    const char *session; /* the one that asks; NULL: none */
    bool had_command;    /* a command had the terminal just now */
    bool is_raw;
    struct termios before; /* the terminal's modes */
    struct termios raw;    /* and those that bawn has set */
    struct winsize size;
    struct keyboard keyboard;
    bool was_cut;   /* what comes next belongs to what was read before */
    VEC(int) still; /* connections to sessions that stand still */
};

struct answer_question {
    const char *text;               /* shown before any key is read; may be "" */
    const char *line;               /* "Keep it? [y/N] ": shown when a key counts */
    bool (*is_open)(void *context); /* asked now and then; NULL: it is open until it is answered */
    void *context;
    int wake_fd;           /* is_open() has something to look at when this can be read; -1: nothing tells */
    const char *elsewhere; /* what to do where no answer is taken; NULL: run it in another terminal */
};

/* Returns false if there is no terminal to ask on. */
bool answer_begin(const struct world *world, FILE *out, struct answering *ret_answering);
void answer_end(struct answering *answering);

/*
 * Shows the question and takes a key. Arrows up and down are k and j, page down is a space. Ctrl-Z stops bawn. '\0': it is not open any more.
 */
char answer_take(struct answering *answering, const struct answer_question *question);

/*
 * A key that may have come from the terminal itself, because it can do no harm: nobody stands still for it. Waits so many milliseconds at most, and until
 * wake_fd can be read.
 */
char answer_idle(struct answering *answering, int wake_fd, int milliseconds);

/* Shows the line, and takes a key. */
char answer_key(struct answering *answering, const char *line);

/* The number of lines of the terminal. */
size_t answer_rows(const struct answering *answering);

/* Any answer but y is no; so is none. */
bool answer_yes(const struct world *world, const struct answer_question *question);

/* Asks, as "QUESTION [y/N] ". Without a terminal a line is read. Any answer but yes is no. */
bool ask(const struct world *world, const char *question);
