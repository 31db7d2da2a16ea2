/* The loopback of a network namespace that is otherwise empty. */
#pragma once

#include "base/attr.h"
#include "base/err.h"

int loopback_up(struct err *err) must_check;
