/* What `bawn prove` found, and the ways to show it. */
#pragma once

#include "cli/world.h"
#include "prove/judge.h"
#include "session/load.h"

struct proof {
    const struct world *world;
    const struct loaded *loaded; /* the policy and the plan that the flags make here */
    const char *const *typed;    /* the whole command line, ended by NULL */
    struct catalogue catalogue;
    finding_list findings;
    size_t counts[RULING_COUNT];
    const char *policy_hash; /* SHA-256 of the plan as JSON */
    bool is_root;
    uint64_t milliseconds;
};

/* What proof_granted() needs to know. */
struct proof_context {
    const struct loaded *loaded;
    const char *project;  /* where the attacks are carried out */
    bool project_is_live; /* what is written there is the host's at once */
};

/* Why the policy lets an attack succeed, or NULL. The context is a struct proof_context. */
const char *proof_granted(void *context, const struct attack_case *attack, const char *const *arguments);

/* What the kernel said, with what else there is to say of it: why not applicable, by what granted, what was reached. */
const char *proof_remark(struct arena *arena, const struct finding *finding);

void proof_print(const struct proof *proof);
void proof_print_json(const struct proof *proof);

/* As a page, which replaces what is there. */
int proof_write_page(const struct proof *proof, const char *path, struct err *err) must_check;
