/* What `bawn prove` found, and the forms to show it in: text, JSON, a page. */
#pragma once

#include "base/style.h"
#include "plan/plan.h"
#include "prove/judge.h"

struct proof {
    const struct plan *plan;        /* of a run with the same flags */
    const char *const *typed;       /* the whole command line, ended by NULL */
    const char *const *environment; /* the secrets in it are left out of the page */
    struct catalogue catalogue;
    finding_list findings;
    size_t counts[RULING_COUNT];
    const char *policy_hash; /* SHA-256 of the plan as JSON */
    bool is_root;
    uint64_t milliseconds;
};

/* The context of proof_granted(). */
struct proof_context {
    const struct plan *plan;
    const char *project;  /* the attacks are carried out there */
    bool project_is_live; /* the host has at once what is written there */
};

/* Why the policy lets an attack succeed, or NULL. The context is a struct proof_context. */
const char *proof_granted(void *context, const struct attack_case *attack, const char *const *arguments);

/* not_held.c: why walls on Landlock alone do not hold an attack that had no other effect, or NULL. The same context. */
const char *proof_not_held(void *context, const struct attack_case *attack);

/* The kernel's answer, and with it: why not applicable, which rule granted it, what was reached. */
const char *proof_remark(struct arena *arena, const struct finding *finding);

/* One finding as a line of text, or of JSON. */
void proof_add_line(const struct style *style, struct buf *out, const struct finding *finding);
void proof_add_json_line(struct buf *out, const struct finding *finding);

/* "277 attacks: 235 held, …", as the last line of the text. As JSON: an object on one line. */
void proof_add_summary(const struct proof *proof, const struct style *style, struct buf *out);
void proof_add_json_summary(const struct proof *proof, struct buf *out);

void proof_add_text(const struct proof *proof, const struct style *style, struct buf *out);
void proof_add_json(const struct proof *proof, struct buf *out);

void proof_add_page(const struct proof *proof, struct buf *out);
