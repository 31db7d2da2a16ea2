#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/text.h"
#include "web/fleets.h"
#include "web/proofs.h"
#include "web/visit.h"

/* --- what pages use ------------------------------------------------------------------------------------------------- */

const char *visit_field(const struct visit *visit, const char *name)
{
    vec_each (const struct form_field, field, &visit->form) {
        if (strcmp(field->name, name) == 0)
            return field->value;
    }
    return "";
}

const char *visit_query(const struct visit *visit, const char *name)
{
    const char *value = MHD_lookup_connection_value(visit->connection, MHD_GET_ARGUMENT_KIND, name);
    return value ? value : "";
}

void visit_go(struct visit *visit, const char *location)
{
    visit->status = MHD_HTTP_SEE_OTHER;
    visit->location = arena_str(&visit->arena, location);
}

int visit_sessions(const struct visit *visit)
{
    auto_arena struct arena arena = {0};
    return open(arena_printf(&arena, "%s/bawn/sessions", visit->web->place->state),
                O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int visit_session(const struct visit *visit, const char *name)
{
    auto_fd int sessions_fd = visit_sessions(visit);
    return sessions_fd < 0 ? -1 : session_open(sessions_fd, name);
}

/* --- what is compiled in -------------------------------------------------------------------------------------------- */

static void send_text(struct visit *visit, const char *type, const char *text)
{
    visit->status = MHD_HTTP_OK;
    visit->type = type;
    buf_add_str(&visit->page.out, text);
}

static void send_style(struct visit *visit)
{
    send_text(visit, "text/css; charset=utf-8", web_style);
}

static void send_script(struct visit *visit)
{
    send_text(visit, "text/javascript; charset=utf-8", web_script);
}

static void send_icon(struct visit *visit)
{
    send_text(visit, "image/svg+xml", web_icon);
}

/* --- which page ------------------------------------------------------------------------------------------------------ */

static const struct {
    const char *path;
    visit_function *get, *post;
} places[] = {
    {"/", sessions_page, NULL},         {"/events", stream_sessions, NULL},
    {"/style.css", send_style, NULL},   {"/script.js", send_script, NULL},
    {"/icon.svg", send_icon, NULL},     {"/requests", requests_page, requests_answer},
    {"/waiting", requests_count, NULL}, {"/policy", policy_page, NULL},
    {"/policy/why", policy_why, NULL},  {"/policy/build", build_page, build_save},
    {"/prove", prove_page, prove_run},
};

/* Below a name: /session/NAME/review. */
struct named_place {
    const char *rest;
    named_function *get, *post;
};

static const struct named_place session_places[] = {
    {"", session_page, NULL},       {"/events", stream_journal, NULL},
    {"/stop", NULL, session_stop},  {"/allow", NULL, session_allow},
    {"/undo", NULL, session_undo},  {"/review", review_page, review_decide_all},
    {"/file", review_file, NULL},   {"/image", review_image, NULL},
    {"/bytes", review_bytes, NULL}, {"/patch", review_patch, NULL},
};

static const struct named_place proof_places[] = {
    {"", proof_page, NULL},
    {"/events", stream_proof, NULL},
    {"/report", proof_report, NULL},
};

static const struct named_place fleet_places[] = {{"", fleet_page, NULL}};

static void not_there(struct visit *visit)
{
    visit_say(visit, MHD_HTTP_NOT_FOUND, "Not found", "There is no such page.");
}

static bool is_session(const struct visit *visit, const char *name)
{
    auto_fd int fd = visit_session(visit, name);
    return fd >= 0;
}

static bool is_proof(const struct visit *visit, const char *name)
{
    auto_fd int fd = proof_open(visit->web->place, name);
    return fd >= 0;
}

static const struct {
    const char *path;
    bool (*is_there)(const struct visit *visit, const char *name);
    const struct named_place *places;
    size_t count;
} kinds[] = {
    {"/session/", is_session, session_places, array_len(session_places)},
    {"/fleet/", fleet_is_there, fleet_places, array_len(fleet_places)},
    {"/proof/", is_proof, proof_places, array_len(proof_places)},
};

/* Returns whether there is such a page. */
static bool route_named(struct visit *visit, size_t kind)
{
    const char *path = visit->path + strlen(kinds[kind].path);
    size_t size = strcspn(path, "/");
    const char *name = arena_copy(&visit->arena, path, size);
    if (!kinds[kind].is_there(visit, name))
        return false;
    for (size_t i = 0; i < kinds[kind].count; i++) {
        const struct named_place *place = &kinds[kind].places[i];
        named_function *act = visit->is_post ? place->post : place->get;
        if (strcmp(place->rest, path + size) == 0 && act) {
            act(visit, name);
            return true;
        }
    }
    return false;
}

void visit_route(struct visit *visit)
{
    if (visit->is_post && !visit->number && !admit_form(visit))
        return;
    for (size_t i = 0; i < array_len(kinds); i++) {
        if (text_starts_with(visit->path, kinds[i].path) && route_named(visit, i))
            return;
    }
    for (size_t i = 0; i < array_len(places); i++) {
        visit_function *act = visit->is_post ? places[i].post : places[i].get;
        if (strcmp(places[i].path, visit->path) == 0 && act) {
            act(visit);
            return;
        }
    }
    not_there(visit);
}
