/*
 * Stands by while a command runs: passes signals on, follows the terminal when the command stops and goes on, and sees
 * it end. May touch the terminal's foreground group and send signals; must not read what comes from inside, but for
 * the reports of the sandbox's own process 1.
 */
#pragma once

#include "launch/launch.h"
#include "supervise/loop.h"

/*
 * `loop` may hold sources already: they are served as long as the command runs. Returns 0 with the exit status for bawn to
 * end with; -1 where the sandbox failed, with the status in *ret_status too.
 */
int supervise(const struct launch *launch, const struct launched *launched, struct loop *loop,
              int *ret_status, struct err *err) must_check;
