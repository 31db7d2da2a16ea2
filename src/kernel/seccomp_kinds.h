/* Which filters there are. Apart from seccomp.h, whose names would clash with libseccomp's in the tool that makes them. */
#pragma once

#define SECCOMP_PROGRAMS(X)                                                                                  \
    X(DEFAULT, "default")                                                                                    \
    X(NESTED, "nested") /* the command may make namespaces and mounts of its own */                          \
    X(ROOT, "root")     /* started by the machine's root: no file becomes set-uid, which would be root's */

enum seccomp_kind {
#define X(id, name) SECCOMP_##id,
    SECCOMP_PROGRAMS(X)
#undef X
        SECCOMP_KINDS, /* how many there are */
};
