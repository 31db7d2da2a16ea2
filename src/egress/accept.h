/* Accepts connections, at listeners inside and at published ports. */
#pragma once

#include "egress/egress.h"

/* Sets listeners.ready: call it before the first listener is added. */
void accept_open(struct egress *egress);
