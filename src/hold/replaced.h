/* What stays of a frozen file of git's that was replaced while a command runs. */
#pragma once

#include "hold/hold.h"

/* Decides about a file that differs from what bawn left there, at once. What must not stay is held aside. */
void hold_decide_replaced(struct hold *hold, struct frozen *frozen, const struct file_content *after);
