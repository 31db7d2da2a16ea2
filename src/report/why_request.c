#include "report/why_request.h"

#include <string.h>

#include "base/text.h"
#include "policy/request.h"

static const char scheme[] = "https://";

static size_t method_size(const char *asked)
{
    size_t size = strspn(asked, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    return size && asked[size] == ' ' ? size : 0;
}

static const char *url_of(const char *asked)
{
    size_t method = method_size(asked);
    return method ? asked + method + 1 : asked;
}

bool why_is_request(const char *asked)
{
    return text_starts_with(url_of(asked), scheme);
}

int why_request_read(const struct plan *plan, const char *asked, struct why_request *ret_request,
                     struct err *err)
{
    struct arena *arena = plan->policy->arena;
    size_t method = method_size(asked);
    const char *start = url_of(asked) + strlen(scheme), *problem = NULL, *hint = NULL;
    size_t size = strcspn(start, "/?#");
    struct why_request request = {
        .method = method ? arena_copy(arena, asked, method) : "GET",
        .target = start[size] == '/' ? start + size : arena_printf(arena, "/%s", start + size),
        .place = arena_copy(arena, start, size),
    };
    if (host_parse_target(arena, request.place, &request.host, &problem, &hint) < 0)
        return err_set(err, "%s: '%s'", problem, request.place);
    request.is_judged = request.host.kind == HOST_NAME &&
                        operations_find(&plan->operations, OP_REQUEST) != NULL &&
                        decide_judges_requests(plan->policy, &request.host, request.host.port);
    *ret_request = request;
    return 0;
}

void why_request_decide(const struct plan *plan, struct why_request *request, candidate_list *candidates)
{
    struct arena *arena = plan->policy->arena;
    const struct host_object *host = &request->host;
    struct asked_request *read = arena_alloc(arena, sizeof(*read));
    const char *problem = request_read(bytes_of(request->method, strlen(request->method)),
                                       bytes_of(request->target, strlen(request->target)), read);
    if (problem) {
        request->sentence = arena_printf(arena, "is refused with a 400: %s", problem);
        return;
    }
    request->decides = decide_request(plan->policy, host, host->port, read, candidates).decides;
    request->is_allowed = request->decides && request->decides->verb == VERB_CONNECT;
    request->sentence = request->is_allowed ? "is allowed"
                        : request->decides  ? "is refused with a 403: a rule refuses it"
                                            : "is refused with a 403: no rule on requests allows it";
    if (request->decides && request->decides->verb == VERB_REFUSE &&
        request->decides->source->layer >= LAYER_USER)
        return; /* a person refused it: their own rule is to be changed */
    request->object = arena_printf(
        arena, "%s%s %s", host_with_port(arena, host->name, host->port == PORT_HTTPS ? 0 : host->port),
        read->path, request->method);
}
