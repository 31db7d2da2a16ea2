/* Accepts connections, at listeners inside and at published ports. */
#pragma once

#include "egress/poller.h"

/* listeners.ready */
void accept_ready(struct watcher *watcher, uint32_t events);
