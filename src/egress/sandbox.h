/* The walls that this program puts around itself. */
#pragma once

#include <stdbool.h>

#include "base/attr.h"
#include "base/err.h"

int sandbox_enter(struct err *err) must_check;

/* Do name lookups need a service of this machine, by this text of /etc/nsswitch.conf? */
bool sandbox_needs_services(const char *nsswitch);
