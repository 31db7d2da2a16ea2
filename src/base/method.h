/* Methods of HTTP requests. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"

/* Does every server read the content of such a request? Of GET, HEAD, DELETE, OPTIONS and others some do not. */
bool method_has_content(struct bytes method);
