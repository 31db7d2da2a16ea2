/* Questions about a request: "GET https://HOST[:PORT]/PATH", or the address alone, which means GET. */
#pragma once

#include "plan/plan.h"
#include "policy/decide.h"

struct why_request {
    const char *method, *target;
    const char *place; /* HOST[:PORT] as asked */
    struct host_object host;
    bool is_judged; /* rules of the plan decide about each request to the host */
    /* filled in by why_request_decide: */
    const struct rule *decides;
    bool is_allowed;
    const char *sentence;
    const char *object; /* of a rule about just this request; NULL: there can be none */
};

bool why_is_request(const char *asked);

int why_request_read(const struct plan *plan, const char *asked, struct why_request *ret_request,
                     struct err *err) must_check;
void why_request_decide(const struct plan *plan, struct why_request *request, candidate_list *candidates);
