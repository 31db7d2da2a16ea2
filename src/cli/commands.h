/* The verbs of the command line, each in its own file. */
#pragma once

#include "cli/args.h"
#include "cli/world.h"
#include "report/summary.h"

verb_function cmd_allow, cmd_answer, cmd_apply, cmd_ask, cmd_check, cmd_diff, cmd_discard, cmd_doctor,
    cmd_export, cmd_fleet, cmd_git_ssh, cmd_held, cmd_help, cmd_home, cmd_import, cmd_init, cmd_learn,
    cmd_log, cmd_login, cmd_mcp, cmd_profile, cmd_profiles, cmd_prove, cmd_publish, cmd_redo, cmd_requests,
    cmd_review, cmd_run, cmd_sessions, cmd_shell_init, cmd_show, cmd_trust, cmd_undo, cmd_web, cmd_why;

/* Long pages of help, in the file of their verb. */
extern const char allow_usage[], answer_usage[], ask_usage[], export_usage[], fleet_usage[], git_ssh_usage[],
    import_usage[], learn_usage[], log_usage[], login_usage[], mcp_usage[], profile_usage[], profiles_usage[],
    prove_usage[], requests_usage[], review_usage[], undo_usage[], web_usage[];

/* cmd_ask.c: what is asked for, as the line of a question has it. A path is one from where this program is. */
/* Inside a sandbox: what people gave in this run counts as rules of the command line for `bawn why`. */
struct given_rules {
    struct arena arena;
    VEC(struct argument) all; /* begins with those of the request */
};
void given_rules_add(const struct world *world, struct run_request *request, struct given_rules *ret_given);
void given_rules_free(struct given_rules *given);

const char *ask_object(const struct world *world, struct arena *arena, const char *kind, const char *object);

/* All verbs, the default one first. The last entry has no name. */
extern const struct verb_entry verb_table[];

/* The report of `bawn doctor` on such a machine; returns the exit status. */
struct host_caps;
int doctor_report(const struct world *world, const struct host_caps *caps, bool as_json);
