/*
 * What bawn has written on the terminal since the last answer. A question is about what stands above it. Where a command in the background has the same
 * terminal, it could have painted over that: then cli/answer.c shows it once more, while everything inside stands still.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/buf.h"

/* The terminal of `err`. */
struct screen {
    bool had_command; /* in this process */
    bool is_spoilt;   /* and nothing was written there since */
    bool is_asking;   /* what is written now is the question itself */
    struct buf shown; /* the end of it */
    FILE *streams[2]; /* that write there; NULL: none */
};

/* A stream that writes to a terminal and remembers what. The plain stream where there is no memory for one. */
FILE *screen_stream(struct screen *screen, FILE *plain);

/* The last question is answered. */
void screen_forget(struct screen *screen);

/* Closes the streams. */
void screen_end(struct screen *screen);
#define auto_screen __attribute__((cleanup(screen_end)))
