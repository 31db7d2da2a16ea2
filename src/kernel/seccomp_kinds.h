/* Which filters there are. Apart from seccomp.h, whose names would clash with libseccomp's in the tool that makes them. */
#pragma once

#include "base/names.h"

#define SECCOMP_PROGRAMS(X)                                                                                  \
    X(SECCOMP_DEFAULT, "default")                                                                            \
    X(SECCOMP_NESTED, "nested") /* the command may make namespaces and mounts of its own */                  \
    X(SECCOMP_ROOT,                                                                                          \
      "root") /* started by the machine's root: no file becomes set-uid, which would be root's */            \
    X(SECCOMP_BARE, "bare") /* without namespaces: calls that no other wall decides are judged */            \
    X(SECCOMP_BARE_FROZEN, "bare_frozen") /* the same; calls that change names are judged, too */            \
    X(SECCOMP_BARE_OLD,                                                                                      \
      "bare_old") /* the same; what Landlock lacks before Linux 6.12 is judged or refused */                 \
    X(SECCOMP_BARE_TOLD, "bare_told")               /* as SECCOMP_BARE; executions are passed on, too */     \
    X(SECCOMP_BARE_FROZEN_TOLD, "bare_frozen_told") /* and so these two */                                   \
    X(SECCOMP_BARE_OLD_TOLD, "bare_old_told")                                                                \
    X(SECCOMP_BARE_LEARN,                                                                                    \
      "bare_learn") /* as SECCOMP_BARE_FROZEN_TOLD; all calls that name a path are passed on */              \
    X(SECCOMP_BARE_OLD_LEARN, "bare_old_learn")

/* From a program without namespaces to the one that passes executions on. */
#define SECCOMP_TOLD_AFTER (SECCOMP_BARE_TOLD - SECCOMP_BARE)

/* In a program, in place of the ids of who loads it: seccomp_load() writes those. */
#define SECCOMP_OWN_UID 0xfffffffeU
#define SECCOMP_OWN_GID 0xfffffffdU

/* In a program, the verdict on calls that make a process or a thread: seccomp_load_judged() writes whether they are judged. It is SECCOMP_RET_USER_NOTIF | 1. */
#define SECCOMP_COUNTED 0x7fc00001U

enum { SECCOMP_MOST_CODE = 512 }; /* instructions in a program */

enum seccomp_kind {
    SECCOMP_PROGRAMS(ID_OF) SECCOMP_KINDS, /* how many there are */
};
