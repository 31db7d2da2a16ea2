/* Finds and starts the network's helper. */
#pragma once

#include "supervise/network.h"

/* Where it lies: beside bawn, or where it was installed. NULL where it is not. */
const char *helper_find(struct arena *arena);

/* Starts it with everything that the network has: fills in `helper` and `link_fd`. */
int helper_start(struct network *network, struct err *err) must_check;
