/* What this machine supports, judged wall by wall from the results of kernel/probe.c, and what would help. */
#pragma once

#include "base/style.h"
#include "kernel/probe.h"

/* Returns whether a run works here. */
bool doctor_add(struct buf *out, const struct style *style, const struct host_caps *caps, bool as_json);

/* The programs of which the probe should find out whether they are snaps, ended by NULL. */
enum { MOST_PROGRAMS = 16 };
void doctor_programs(const char *ret_programs[MOST_PROGRAMS]);
