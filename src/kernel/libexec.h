/* Programs of bawn's own that are installed beside it. */
#pragma once

#include "base/arena.h"

/* Where "bawn-egress" or the like lies: beside bawn itself, in the libexec beside its folder, or where it was installed. NULL: nowhere. */
const char *libexec_find(struct arena *arena, const char *name);
