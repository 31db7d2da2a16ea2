/* The plan as an object: its memory, and adding operations while it is made. */
#include "plan/plan.h"

#include <string.h>

#include "base/hash.h"
#include "base/path.h"
#include "plan/steps.h"

/*
 * May everybody read the tree, so that real root inside sees it as an ordinary user? That is so for the system's trees except
 * programs, which root may have installed for itself: a file in /etc or /opt that only root may read is a secret.
 */
bool plan_is_public(const struct plan *plan, const struct rule *because, const char *path)
{
    return plan->request.is_root && because && because->source->is_profile &&
           because->source->layer == LAYER_BASE && because->path.start == START_ROOT &&
           !path_is_beneath(path, "/usr");
}

void plan_add(struct plan *plan, struct operation operation)
{
    operation.is_of_profile = operation.because && operation.because->source->is_profile;
    operation.is_public =
        operation.kind == OP_BIND_READ && plan_is_public(plan, operation.because, operation.path);
    vec_push(&plan->operations, operation);
}

const char *plan_home(const struct policy *policy, const char *agent)
{
    /* The name is for people; the hash distinguishes workspaces of the same name. */
    const char *workspace = policy_first_named(policy);
    char hash[SHA256_HEX_SIZE];
    sha256_hex(workspace, strlen(workspace), hash);
    return arena_printf(policy->arena, "%s/bawn/homes/%s/%.40s-%.12s", policy->request.starts[START_DATA],
                        agent, path_name(workspace), hash);
}

const struct operation *plan_host_port(const struct plan *plan, uint16_t port)
{
    vec_each (const struct operation, operation, &plan->operations) {
        if (operation->kind == OP_HOST_PORT && operation->port == port)
            return operation;
    }
    return NULL;
}

void plan_free(struct plan *plan)
{
    vec_free(&plan->operations);
    vec_free(&plan->notes);
    vec_free(&plan->given_up);
}
