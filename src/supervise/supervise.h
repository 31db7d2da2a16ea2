/*
 * Stands by while a command runs: passes signals on, follows the terminal when the command stops and goes on, and sees
 * it end. May touch the terminal's foreground group and send signals; must not read what comes from inside, but for
 * the reports of the sandbox's own process 1.
 */
#pragma once

#include "launch/launch.h"
#include "supervise/loop.h"
#include "supervise/standstill.h"
#include "supervise/tripwires.h"

struct outcome {
    int status; /* for bawn to end with */
    bool ran_out_of_time;
    bool
        is_interrupted; /* by a person at the terminal: once all is put right, bawn is to end by the same signal */
};

/*
 * `loop` may hold sources already: they are served as long as the command runs. Returns -1 where the sandbox failed;
 * *ret_outcome is filled in either way.
 */
int supervise(const struct launch *launch, const struct launched *launched, struct loop *loop,
              struct standstill *standstill, struct tripwires *tripwires, struct outcome *ret_outcome,
              struct err *err) must_check;
