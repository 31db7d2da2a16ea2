/* One request and its reply, and what all of them share. */
#pragma once

#include <microhttpd.h>

#include "base/buf.h"
#include "base/vec.h"
#include "report/sessions.h"
#include "web/acts.h"
#include "web/html.h"
#include "web/web.h"

struct form_field {
    const char *name, *value;
};
typedef VEC(struct form_field) form_list;

/* Takes a form apart: name=value&name=value, with %XX and +. Returns false where it is none. */
bool form_parse(struct arena *arena, const char *text, size_t size, form_list *ret_fields);

struct stream;
struct visit;

/* A run that was asked to end. */
struct stop_asked {
    const char *session;
    int64_t since; /* seconds */
};

/* What a connection does, for its deadline. */
struct caller_at_door {
    int fd;
    int64_t since; /* seconds */
    bool is_hung_up;
    enum { DOOR_READS, DOOR_WAITS, DOOR_WRITES } stage;
};

struct web {
    const struct web_place *place;
    struct MHD_Daemon *daemon;
    int channel_fd, notice_fd, table_fd; /* the last: of connections, for port_peer_user() */
    char token[SECRET_SIZE], cookie[SECRET_SIZE], form[SECRET_SIZE];
    bool token_is_used;
    uint32_t last_number;
    VEC(struct visit *) waiting;          /* for the actor */
    VEC(struct caller_at_door *) at_door; /* all connections */
    VEC(struct stream *) streams;
    VEC(struct stop_asked) stops;
    struct arena arena; /* of their names */
};

struct visit {
    struct web *web;
    struct MHD_Connection *connection;
    struct caller_at_door *door;
    struct arena arena;
    const char *path;
    bool is_post, is_too_large, is_admitted;
    struct buf body;
    form_list form;

    /* What the actor did for it. */
    uint32_t number; /* 0: it was not asked */
    bool is_waiting, is_done, is_cut;
    int stage; /* how many acts came before */
    int done_status;
    struct buf done_text;

    /* The reply. */
    unsigned status;
    const char *type, *location, *cookie, *saved_as; /* the last: a name, if it is a file to save */
    struct html page;
    struct stream *stream; /* the reply goes on as the session does */
};

typedef void visit_function(struct visit *visit);

/* routes.c: calls the function of the request's path. It may be called again when the actor is done. */
void visit_route(struct visit *visit);

/* admit.c: why the request is refused, or NULL. May answer it itself: then visit->status is set. */
const char *admit(struct visit *visit);

/* Is it a POST with the token of our forms? Answers it if not. */
bool admit_form(struct visit *visit);

/* The value of a field of the form, or of the address; "" if there is none. */
const char *visit_field(const struct visit *visit, const char *name) returns_text;
const char *visit_query(const struct visit *visit, const char *name) returns_text;

/* Has the act been carried out? If not, asks the actor and returns false: the visit is called again. `input` may be NULL. */
bool visit_act(struct visit *visit, enum act act, const struct buf *input, const char *const *arguments);

/* Tells the actor that the address was used. */
void visit_entered(const struct visit *visit);

/* Goes on to another act, whose outcome takes the place of the last one's. */
void visit_act_again(struct visit *visit);

/* Replies with a short page: an error, or a word to say. */
void visit_say(struct visit *visit, unsigned status, const char *title, const char *text);
void visit_go(struct visit *visit, const char *location); /* 303 */

/* page.c: the frame around a page's content. `here` is the address of its part: "/", "/requests" … */
void page_begin(struct visit *visit, const char *title, const char *here);
void page_end(struct visit *visit);
void page_add_form_token(struct visit *visit);
/* What a verb printed, and whether it went well. */
void page_add_outcome(struct visit *visit);
/* What a verb printed, in parts: a line that is not indented is a heading, what follows it is its block. */
void page_add_listing(struct visit *visit);

/* "412 ms", "3 minutes" */
const char *length_text(struct arena *arena, uint64_t milliseconds);

/* The folder of the sessions, or of one; -1. */
int visit_sessions(const struct visit *visit);
int visit_session(const struct visit *visit, const char *name);

/* requests_page.c: how many questions of running sessions wait for an answer, by their journals. */
size_t questions_count(const struct visit *visit);

/* stream.c: lines as they are written, from where the page ended (`from` in the address); and news of the list of sessions. */
void stream_journal(struct visit *visit, const char *session);
void stream_proof(struct visit *visit, const char *proof);
void stream_sessions(struct visit *visit);
void streams_ready(struct web *web); /* something was written */
void stream_close(struct stream *stream);
struct MHD_Response *stream_response(struct stream *stream);

/* What is known of a session without reading all of its journal. Returns false if there is none. */
bool session_look(struct visit *visit, const char *session, struct listed *ret_listed);
bool session_waits(const struct listed *listed); /* for a review */
void session_add_state(struct html *page, const struct listed *listed);

/* A button that asks the run to end, and later one that kills it. */
void session_add_stop(struct visit *visit, const char *session, const char *label);

/* The pages, one file each. A named one has the name of its session or proof. */
visit_function sessions_page, requests_page, requests_answer, requests_count, policy_page, policy_why,
    build_page, build_save, prove_page, prove_run;
typedef void named_function(struct visit *visit, const char *name);
named_function session_page, session_stop, session_allow, session_undo, review_page, review_file,
    review_image, review_bytes, review_patch, review_decide_all, fleet_page, proof_page, proof_report;
