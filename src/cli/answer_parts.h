/* The steps of an answer that answer.h describes. */
#pragma once

#include "cli/answer.h"

/* answer_drain.c: is `fd` the terminal that `out` writes to, and does it understand control strings? */
bool drain_is_possible(const struct answering *answering);

/* Drops everything that was typed, or that the terminal was asked for, before this. False: the terminal has not answered within so many milliseconds. */
bool drain(const struct answering *answering, int patience);

/* answer_still.c: everything inside stands still that can write to this terminal. Returns 0, CONTROL_RUNS_ON (try again), or -1. */
int still_begin(struct answering *answering, struct err *err) must_check;
bool still_is_unbroken(const struct answering *answering);
void still_end(struct answering *answering);
