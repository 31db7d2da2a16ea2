/* Looks a host up, checks its addresses (leads.h) and connects to one of them; for a published port, connects inside. */
#pragma once

#include "egress/connection.h"

int dial_open(struct egress *egress) must_check;

/* Begins STAGE_LOOKUP. */
void connection_dial(struct connection *connection);

/* A published port: asks process 1 for a socket that connects to 127.0.0.1, or to ::1 if that was refused. */
void connection_dial_inside(struct connection *connection);

/* Tries the next address, beside those that have not answered yet. */
void connection_attempt(struct connection *connection);
