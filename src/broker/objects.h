/* What is a question about files and variables. */
#pragma once

#include "broker/broker.h"

struct decided judge_path(const struct broker *broker, struct arena *arena, const char *text,
                          struct question *question);
struct decided judge_variable(const struct broker *broker, struct arena *arena, const char *name,
                              struct question *question);

/* broker.c */
struct decided decided_granted(const char *sentence);
struct decided decided_refused(const char *sentence);

/* broker.c: any bytes as printable text, cut to a number of columns. */
const char *broker_printable(struct arena *arena, const char *text, size_t columns);
