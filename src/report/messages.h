/* Sentences for several verbs: problems, the diagnostics of a policy, its rules, opened decoys. And the briefing. */
#pragma once

#include "base/style.h"
#include "journal/run_facts.h"
#include "kernel/probe.h"
#include "plan/plan.h"
#include "policy/diag.h"

/* "bawn: SENTENCE. HINT.\n"; the hint may be NULL. */
void report_add_problem(struct buf *out, const struct style *style, const char *message, const char *hint);

/* The same, of something that is not a problem: not in red. */
void report_add_note(struct buf *out, const struct style *style, const char *message, const char *hint);

/* Every diagnostic: its place, its message, the line of the source and a hint. */
void report_add_diags(struct buf *out, const struct style *style, const struct diags *diags);

/* "seal ~/.ssh/": the rule as it would stand in a file. */
const char *rule_text(struct arena *arena, const struct rule *rule);

/* Where a rule comes from: "base.bawn:12 (base)", "command line". */
const char *rule_place(const struct style *style, struct arena *arena, const struct rule *rule);

/* The hosts that may be reached, each once, whatever its ports. */
size_t plan_count_hosts(const struct plan *plan);

/* "claude may write ~/my-app and reach 11 hosts (bawn show)". `is_aside`: the workspace itself stays as it is. */
void run_start_add(const struct plan *plan, const char *command, bool is_aside, struct buf *out);

/* "~/.ssh/id_rsa was opened 3 times by `cat …`", printable. `home` is shown as ~. */
const char *opened_decoy_text(struct arena *arena, const char *home, const struct fired *fired);

/* What is done about secrets with `leak warn`, `leak block` and `leak off`. */
const char *leak_remark(const char *word) returns_text;

/*
 * briefing.c: the text that tells an agent about its sandbox: denials are deliberate, what it may do, how to ask for
 * more. `is_kept_aside`: a person decides after the run about what it wrote in the project.
 */
void briefing_add(const struct plan *plan, bool is_kept_aside, struct buf *out);

/* --- doctor --- */

/* What this machine supports, judged wall by wall from the results of kernel/probe.c, and what would help. */

/* Returns whether a run works here. */
bool doctor_add(struct buf *out, const struct style *style, const struct host_caps *caps, bool as_json);

/* The programs of which the probe should find out whether they are snaps, ended by NULL. */
enum { MOST_PROGRAMS = 16 };
void doctor_programs(const char *ret_programs[MOST_PROGRAMS]);
