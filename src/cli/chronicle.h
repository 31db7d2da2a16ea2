/*
 * What the journal is told of a run as a whole: how it began, by which policy and behind which walls, which limits it met,
 * how it ended. What happens in between is told by those who see it.
 */
#pragma once

#include "cli/attend.h"

/* As little as a start may cost. */
void chronicle_start(struct attendance *attendance, const char *workspace);

/* While the command begins: the command, the policy and the plan. The system's log gets the chain's head. */
void chronicle_plan(struct attendance *attendance);

/* Nothing runs inside any more, and its control group is still there. */
void chronicle_limits(struct attendance *attendance, const struct outcome *outcome);

/* A command as it would be typed. */
const char *chronicle_command(struct arena *arena, const char *const *command);

/* Now and then old sessions go, and the journal says so: once a run, while the command runs or before its end is written. */
void chronicle_let_go(struct attendance *attendance);

void chronicle_end(struct attendance *attendance, const struct outcome *outcome, uint64_t milliseconds,
                   uint64_t changes);
