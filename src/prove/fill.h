/* What {NAMES} in a case stand for. */
#pragma once

#include "prove/sensors.h"

/* NULL where this machine has no such thing; then *ret_lacks says why (ret_lacks may be NULL). */
const char *fill(const struct targets *targets, const struct sensors *sensors, const char *text,
                 const char **ret_lacks);
