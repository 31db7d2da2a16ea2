/*
 * Where a person hears of a question: the first of these ways that works here, or those of the user's `ask-by` rules.
 *
 *   command   the user's own (`ask-command "…"`), in a shell. Facts reach it in variables
 *   tmux      a popup over the pane in which bawn runs, with `bawn requests ID` in it
 *   desktop   a notification with buttons. Its answer goes through `bawn answer`, as a person's would
 *   terminal  a prompt. If the command draws on the terminal itself (raw mode): the bell, and the terminal's title until it is answered. If the
 *             command does not have the terminal to itself (a pipeline, a job of a shell inside): the bell and a line
 *
 * Nothing from inside is a word of a shell command. In an argument, it is printable and has no markup.
 */
#pragma once

#include "session/run.h"

/* From now on a person hears of questions, and of a localhost that is not the one that was meant. The run's asking has begun. */
void tell_begin(struct run *run);

/* The same for a printable sentence that asks for nothing: what happened to a file of the user's. The first ones of a run; all are said at the end. */
void tell_sentence(struct run *run, const char *sentence);

/* A question was answered, or the run is over: brings the terminal's own title back once none is open. */
void tell_settled(struct run *run);
