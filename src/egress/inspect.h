/*
 * Inspects the first bytes of a connection. One address may serve many hosts: the host that the client itself names, in TLS or
 * in HTTP, must be the name that it asked for. The bytes are only peeked at and stay in the socket.
 */
#pragma once

#include "egress/connection.h"

/*
 * Returns true when the first bytes have passed: is_inspected is set, and the caller goes on. On false the connection waits for
 * more bytes, or it was refused or reset, and the caller returns at once.
 */
bool connection_inspect(struct connection *connection) must_check;
