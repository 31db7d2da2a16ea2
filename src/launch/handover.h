/*
 * What the child is told when the plan is made: it was started before. Bytes on a socket between two halves of one
 * program, so that neither has to share its memory with the other.
 */
#pragma once

#include "base/arena.h"
#include "launch/launch.h"

/* Sends the plan and what else is known by now. A child that has died meanwhile is no error: it has reported why. */
int handover_send(const struct launch *launch, int socket_fd, struct err *err) must_check;

/* Receives them into *launch, which holds already what was known before. */
int handover_receive(int socket_fd, struct arena *arena, struct launch *launch, struct err *err) must_check;
