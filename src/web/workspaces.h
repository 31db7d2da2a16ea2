/* The choice of a workspace and a program, for pages about the policy. */
#pragma once

#include "web/visit.h"

/* The workspaces of all sessions, and where the page was started; each once. */
void workspaces_known(const struct web_place *place, struct arena *arena, act_words *ret_list);
void workspaces_find(struct visit *visit, act_words *ret_list);

/* The workspace that the request names, if it is one of the list; else the first. A verb runs in no other. */
const char *workspace_named(const struct visit *visit, const act_words *list);

/* The program that the request names; claude if it names none. */
const char *program_named(const struct visit *visit);

/* A field of a form for the workspace, and fields for both. */
void workspaces_add_list(struct visit *visit, const act_words *list, const char *workspace);
void workspaces_add_choice(struct visit *visit, const act_words *list, const char *workspace,
                           const char *agent);
