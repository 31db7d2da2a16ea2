/*
 * The socket of the user's ssh agent, where `service/ssh-agent` is in use: ssh-agent makes it at a new path in /tmp each time, and
 * only a variable says where. A repository can set a variable (direnv), so the path must be one that ssh-agent itself makes; of
 * another socket the user is told (plan/notes.c). It is granted like a profile's `socket`, so it opens no seal.
 */
#include <string.h>

#include "base/pattern.h"
#include "base/text.h"
#include "policy/compose.h"
#include "policy/decide.h"

void show_agent_socket(struct policy *policy)
{
    static const struct source named = {
        .name = "your SSH_AUTH_SOCK", .layer = LAYER_BASE, .asked_by = LAYER_BASE, .is_profile = true};
    const char *path = text_variable(policy->request.environment, "SSH_AUTH_SOCK");
    const struct rule *rule = decide_env(policy, "SSH_AUTH_SOCK", NULL).decides;
    bool passes = rule && rule->verb == VERB_ENV && !rule->env.value;
    if (!path || !passes || !fs_has_name(&policy->profiles_in_use, "service/ssh-agent") ||
        !pattern_matches_path("/tmp/ssh-*/agent.*", path, strlen(path)))
        return;
    const struct fs_place *place = NULL;
    struct err ignored;
    if (fs_resolve(policy->request.fs, path, &place, &ignored) == 0 && place->kind == FILE_SOCKET &&
        text_equal(place->real, path))
        add_found_rule(policy, VERB_SOCKET, &named, path);
}
