/* Questions about what stays outside and is used from there: "git@HOST:PATH", a repository, and "USER@HOST[:PORT]", a login by ssh. */
#pragma once

#include "plan/plan.h"

struct why_outside {
    const char *kind;     /* "repository", "login" */
    const char *decision; /* one word, for machines */
    const char *sentence;
    const struct rule *decides; /* may be NULL */
};

bool why_is_repository(const char *asked);
void why_repository_decide(const struct plan *plan, const char *asked, struct why_outside *ret_answer);

bool why_is_login(const char *asked);
int why_login_decide(const struct plan *plan, const char *asked, struct why_outside *ret_answer,
                     struct err *err) must_check;
