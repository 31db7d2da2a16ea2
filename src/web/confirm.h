/* The page between a click and an act that is not taken back easily. */
#pragma once

#include "web/visit.h"

struct confirmation {
    const char *title;
    const char *address; /* that the form is sent to again */
    const char *act;     /* on the button: what it does */
    const char *back;    /* where Cancel leads */
    const char *here;    /* of page_begin() */
};

/* Was the form sent by the page of the confirmation? */
bool visit_is_confirmed(const struct visit *visit);

/*
 * Replies with what would be done (`what`), a button for it and Cancel. Cancel has the focus: a key that was meant for the page before does nothing.
 */
void visit_confirm(struct visit *visit, const struct confirmation *confirmation, const struct html *what);

/* The name of a session as a part of an address that goes on: "/session/NAME/undo". */
const char *session_address(struct visit *visit, const char *session, const char *rest);
