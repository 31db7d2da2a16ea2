/* The verbs of the command line, each in its own file. */
#pragma once

#include "cli/args.h"
#include "cli/world.h"
#include "report/summary.h"

verb_function cmd_allow, cmd_answer, cmd_apply, cmd_ask, cmd_check, cmd_diff, cmd_discard, cmd_doctor,
    cmd_export, cmd_held, cmd_help, cmd_home, cmd_import, cmd_init, cmd_log, cmd_login, cmd_profiles,
    cmd_prove, cmd_publish, cmd_redo, cmd_requests, cmd_review, cmd_run, cmd_sessions, cmd_shell_init,
    cmd_show, cmd_trust, cmd_undo, cmd_why;

/* Long pages of help, in the file of their verb. */
extern const char answer_usage[], ask_usage[], export_usage[], import_usage[], log_usage[], prove_usage[],
    requests_usage[];

/* All verbs, the default one first. The last entry has no name. */
extern const struct verb_entry verb_table[];

/* The report of `bawn doctor` on such a machine; returns the exit status. */
struct host_caps;
int doctor_report(const struct world *world, const struct host_caps *caps, bool as_json);
