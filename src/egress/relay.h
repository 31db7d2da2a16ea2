/*
 * Moves bytes in both directions (flow.h). The end of one direction becomes the end of the same direction at the other socket
 * (half-close), a peer that does not read stops the other one, and a reset resets both. Requests of plain HTTP are checked
 * (http.h), answers are not.
 */
#pragma once

#include "egress/connection.h"

/* Both sockets are connected: begins STAGE_RELAY. */
void connection_relay(struct connection *connection);

/* Ends the gathering of flows that have fallen silent (flow.h). Returns true while some gather: call it again in a millisecond. */
bool relay_keep_time(struct egress *egress);
