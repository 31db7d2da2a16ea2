#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void set_message(struct err *err, int errnum, const char *format, va_list args)
{
    err->errnum = errnum;
    err->hint[0] = '\0';
    vsnprintf(err->message, sizeof(err->message), format, args);
}

int err_set(struct err *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_message(err, 0, format, args);
    va_end(args);
    return -1;
}

int err_sys(struct err *err, int errnum, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_message(err, errnum, format, args);
    va_end(args);

    size_t used = strlen(err->message);
    const char *why = strerrordesc_np(errnum);
    snprintf(err->message + used, sizeof(err->message) - used, ": %s", why ? why : "unknown error");
    return -1;
}

int err_hint(struct err *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(err->hint, sizeof(err->hint), format, args);
    va_end(args);
    return -1;
}

bool errno_is_of_machine(int errnum)
{
    return errnum == ENOMEM || errnum == EMFILE || errnum == ENFILE || errnum == EIO || errnum == EINTR ||
           errnum == EAGAIN;
}
