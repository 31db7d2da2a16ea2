/*
 * The chain's head, where the machine has a log that this user cannot rewrite: who holds a journal against it sees
 * whether it was written anew from its beginning.
 */
#pragma once

#include "journal/journal.h"

/* "my-app-3 begins, record 2, 3fa9…". Without a log, or with one that does not take it at once, nothing is sent. */
void system_log_head(const char *session, const char *moment, const struct journal *journal);
