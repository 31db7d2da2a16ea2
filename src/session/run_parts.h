/*
 * The parts of a run:
 *
 *   run.c            from the request to the result; theory of operation
 *   run_phases.c     the phases before the launch, during it and after the command
 *   run_alarms.c     what tells the user of an alarm at once
 *   run_grants.c     what a person gives to the running command
 *   run_settings.c   what tells the user of frozen files that change, and asks about git's settings
 *   run_journal.c    the journal records of the run as a whole
 *   command.c        the command's arguments, variables and terminal
 *   outside.c        secrets that stay outside, and the certificates for it
 *   said.c           notes that are said once in a project
 *   beside.c         other runs in the same folder
 *   policy_inside.c  the policy file for `bawn why` inside
 */
#pragma once

#include "session/run.h"
#include "supervise/supervise.h"

/* --- run_phases.c --- */

/* Before the plan is handed over: makes the files and sockets that the child needs. */
int run_prepare(struct run *run, struct err *err) must_check;

/* While the child raises its walls, before it runs the command. */
int run_start(struct run *run, struct err *err) must_check;

/* Says and records why the run cannot begin or go on. */
void run_failed(struct run *run, const struct err *err);

/* The command has ended, or never ran. Ends everything that was begun and fills in the result. */
void run_end(struct run *run, struct outcome outcome);

/* --- run_alarms.c --- */

/* With --notify: from now on the user is told of each alarm. */
void run_set_alarms(struct run *run);

/* Fails if bawn itself, or a command of --notify, --on-exit or ask-command, could be changed from inside. */
int run_check_outside(const struct run *run, struct err *err) must_check;

/* --- run_grants.c --- */

/* After asking_begin: from now on a person can give files and directories. */
void run_begin_granting(struct run *run);

/* --- run_settings.c --- */

/* After asking_begin: from now on the user hears of frozen files that change, and is asked about settings that were taken out. */
void run_watch_settings(struct run *run);

/* --- run_journal.c --- */

/* The first record. It is short, because the command waits for it. */
void run_journal_start(struct run *run, const char *workspace);

/*
 * Records the command, policy and plan while the command begins. The system's log gets the head of the hash chain.
 */
void run_journal_plan(struct run *run);

void run_journal_end(struct run *run, const struct outcome *outcome, uint64_t milliseconds, uint64_t changes);

/* Retires old sessions now and then, at most once a run, and records it. */
void run_retire_sessions(struct run *run);

/* --- said.c --- */

/* Was the note said in this project before? From now on it was. */
bool run_has_said(const struct loaded *loaded, const char *text);

/* --- beside.c --- */

/* Names the other runs that change the same folder, as this one does: `bawn undo` of the one may take back what the other did. */
void run_name_others(const struct run *run);

/* --- learn_variables.c --- */

/* Notes the caller's variables that files name which the run opened, and that were dropped. Called before learning_end. */
void run_learn_variables(struct run *run);

/* --- missing_program.c --- */

/* The command was not found inside: looks for the reason, and changes the error to name it. */
void run_explain_missing(struct run *run, struct err *err);

/* --- command.c --- */

/* The command as a person would type it. */
const char *command_text(struct arena *arena, const char *const *command);

/* The variables of the plan, with the caller's values for those that are passed on. */
const char *const *command_environment(const struct caller *caller, const struct loaded *loaded,
                                       bool has_policy);

/* The command, with the arguments that the profile adds after the agent's name. */
const char *const *command_words(const struct run_request *request, const struct loaded *loaded,
                                 const char *briefing);

/* Finds the terminal, and whether the command gets its own process group. */
void command_find_terminal(struct launch *launch);

/* --- outside.c --- */

/* Starts bawn-vault if the plan has secrets, and adds placeholders and certificates to what the command gets. */
int outside_begin(struct run *run, struct err *err) must_check;

/* --- policy_inside.c --- */

/*
 * The rules of the administrator, the user and the command line as one file, because their own files are hidden
 * inside. Without such rules it is a comment: `bawn ask` works in every run.
 */
const char *policy_for_inside(const struct loaded *loaded);

/* --- run_limits.c --- */

/* `limit disk`: counts the trees that the command writes from now on. */
int run_begin_disk(struct run *run, struct err *err) must_check;

/*
 * Records the limits that were reached. Called after the last process ended and before the control group is
 * removed.
 */
void run_journal_limits(struct run *run, const struct outcome *outcome);
