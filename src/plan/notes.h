/* What the user should know before the run starts. */
#pragma once

#include "plan/plan.h"

void plan_add_notes(struct plan *plan);
