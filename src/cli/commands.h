/* The verbs of the command line, each in its own file. */
#pragma once

#include "cli/args.h"
#include "cli/world.h"
#include "report/summary.h"

int cmd_review(const struct world *world, const struct args *args);
int cmd_run(const struct world *world, const struct args *args);
int cmd_check(const struct world *world, const struct args *args);
int cmd_why(const struct world *world, const struct args *args);
int cmd_show(const struct world *world, const struct args *args);
int cmd_init(const struct world *world, const struct args *args);
int cmd_login(const struct world *world, const struct args *args);
int cmd_shell_init(const struct world *world, const struct args *args);
int cmd_trust(const struct world *world, const struct args *args);
int cmd_home(const struct world *world, const struct args *args);
int cmd_held(const struct world *world, const struct args *args);
int cmd_profiles(const struct world *world, const struct args *args);
int cmd_allow(const struct world *world, const struct args *args);
int cmd_publish(const struct world *world, const struct args *args);
int cmd_prove(const struct world *world, const struct args *args);
int cmd_doctor(const struct world *world, const struct args *args);
int cmd_diff(const struct world *world, const struct args *args);
int cmd_apply(const struct world *world, const struct args *args);
int cmd_discard(const struct world *world, const struct args *args);
int cmd_log(const struct world *world, const struct args *args);
int cmd_sessions(const struct world *world, const struct args *args);
int cmd_undo(const struct world *world, const struct args *args);
int cmd_help(const struct world *world, const struct args *args);

/* The report of `bawn doctor` on such a machine; returns the exit status. */
struct host_caps;
int doctor_report(const struct world *world, const struct host_caps *caps, bool as_json);

/* --- summary --- */

/*
 * Prints the summary of a run on standard error:
 *
 *   on a terminal    a few lines, or none if there is nothing to tell
 *   with --json      one line of JSON
 *   if CI is set     one sentence
 *   in a pipe        nothing
 *
 * A step of GitHub's gets Markdown as well, in the file that it names.
 */

void summary_print(const struct world *world, const struct args *args, const struct run_summary *summary);

/* Will the summary list the changed files? Finding them takes time. */
bool summary_is_wanted(const struct world *world, const struct args *args);
