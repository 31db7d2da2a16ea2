/* What the network's helper tells, line by line: it is written into the journal, and kept for the summary. */
#pragma once

#include "supervise/network.h"

enum { MOST_ADDED = 8192, LONGEST_LINE = 1024 };

/* Reads what the helper has told. Returns false when it is gone. */
bool tidings_hear(struct network *network);

/* A line for the helper, if it runs, with a descriptor or -1. */
int tidings_send(struct network *network, const char *line, int fd, struct err *err) must_check;

/* Something was asked for and not given. */
void tidings_refused(struct network *network, const char *host, const char *port, const char *sentence);
