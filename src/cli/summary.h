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
#pragma once

#include "cli/args.h"
#include "report/summary.h"

void summary_print(const struct world *world, const struct args *args, const struct run_summary *summary);

/* Will the summary list the changed files? Finding them takes time. */
bool summary_is_wanted(const struct world *world, const struct args *args);
