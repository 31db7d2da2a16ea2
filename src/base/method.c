#include "base/method.h"

#include <string.h>

#include "base/attr.h"

bool method_has_content(struct bytes method)
{
    static const char *const with[] = {"POST", "PUT", "PATCH"};
    for (size_t i = 0; i < array_len(with); i++) {
        if (method.size == strlen(with[i]) && memcmp(method.at, with[i], method.size) == 0)
            return true;
    }
    return false;
}
