/* The loopback of a network namespace that is otherwise empty. */
#pragma once

#include "base/attr.h"
#include "base/err.h"

/* Brings it up: the namespace's own programs reach each other at 127.0.0.1 and ::1. */
int loopback_bring_up(struct err *err) must_check;

/*
 * Brings it up and makes every address there is one of this namespace's own: whatever a program connects to, it meets a
 * socket in here or is refused at once. `address` (IPv4, host byte order) becomes the loopback's beside 127.0.0.1: with
 * that alone, programs believe that there is no network and do not even ask for names.
 */
int loopback_take_all_addresses(unsigned address, struct err *err) must_check;

/* Undoes that, but for the loopback itself: other addresses are then as far away as without a network. */
int loopback_let_addresses_go(unsigned address, struct err *err) must_check;
