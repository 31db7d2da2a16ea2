/*
 * What the parts of a run share.
 *
 *   run.c            from the request to the result
 *   run_phases.c     what begins before the launch, while the child raises its walls, and ends after the command
 *   run_journal.c    what the journal is told of the run as a whole
 *   command.c        what the command gets: words, variables, the terminal
 *   policy_inside.c  the policy once more, for `bawn why` inside
 */
#pragma once

#include "session/run.h"
#include "supervise/supervise.h"

/* --- run_phases.c --- */

/* Before the plan is handed over: makes what the child needs to find. */
int run_prepare(struct run *run, struct err *err) must_check;

/* While the child raises its walls, and before it runs the command. */
int run_start(struct run *run, struct err *err) must_check;

/* The run cannot begin, or cannot go on: that is said and recorded. */
void run_failed(struct run *run, const struct err *err);

/* The command has ended, or was never run. */
void run_end(struct run *run, struct outcome outcome);

/* --- run_journal.c --- */

/* As little as a start may cost. */
void run_journal_start(struct run *run, const char *workspace);

/* While the command begins: the command, the policy and the plan. The system's log gets the head of the hash chain. */
void run_journal_plan(struct run *run);

/* Limits that were met. Nothing runs inside any more, and the control group is still there. */
void run_journal_limits(struct run *run, const struct outcome *outcome);

void run_journal_end(struct run *run, const struct outcome *outcome, uint64_t milliseconds, uint64_t changes);

/* Removes old sessions now and then, at most once a run, and records it. */
void run_retire_sessions(struct run *run);

/* --- command.c --- */

/* A command as it would be typed. */
const char *command_text(struct arena *arena, const char *const *command);

/* The variables of the plan, with the caller's values for those that pass. */
const char *const *command_environment(const struct caller *caller, const struct loaded *loaded,
                                       bool has_policy);

/* The command's words, with the arguments that its profile adds after the agent's own name. */
const char *const *command_words(const struct run_request *request, const struct loaded *loaded,
                                 const char *briefing);

/* Who has the terminal, and in which process group the command runs. */
void command_find_terminal(struct launch *launch);

/* --- policy_inside.c --- */

#define POLICY_INSIDE "/run/bawn/policy.bawn"

/*
 * What the administrator, the user and the command line said lies where no sandbox looks, so it is written again into a file of
 * its own. NULL where nobody said anything beside the compiled-in profiles, and no agent is run.
 */
const char *policy_for_inside(const struct loaded *loaded);
