/* Starts the network's helper. */
#pragma once

#include "supervise/network.h"

/* Starts it with everything that the network has: fills in `helper` and `link_fd`. */
int helper_start(struct network *network, struct err *err) must_check;
