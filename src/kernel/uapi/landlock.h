/* What the distribution's linux/landlock.h may lack: ABI 3 (truncate) to 6 (scopes). Values are the kernel's. */
#pragma once

#include <linux/types.h>

#define BAWN_LANDLOCK_FS_EXECUTE     (1ULL << 0)
#define BAWN_LANDLOCK_FS_WRITE_FILE  (1ULL << 1)
#define BAWN_LANDLOCK_FS_READ_FILE   (1ULL << 2)
#define BAWN_LANDLOCK_FS_READ_DIR    (1ULL << 3)
#define BAWN_LANDLOCK_FS_REMOVE_DIR  (1ULL << 4)
#define BAWN_LANDLOCK_FS_REMOVE_FILE (1ULL << 5)
#define BAWN_LANDLOCK_FS_MAKE_CHAR   (1ULL << 6)
#define BAWN_LANDLOCK_FS_MAKE_DIR    (1ULL << 7)
#define BAWN_LANDLOCK_FS_MAKE_REG    (1ULL << 8)
#define BAWN_LANDLOCK_FS_MAKE_SOCK   (1ULL << 9)
#define BAWN_LANDLOCK_FS_MAKE_FIFO   (1ULL << 10)
#define BAWN_LANDLOCK_FS_MAKE_BLOCK  (1ULL << 11)
#define BAWN_LANDLOCK_FS_MAKE_SYM    (1ULL << 12)
#define BAWN_LANDLOCK_FS_REFER       (1ULL << 13) /* ABI 2, Linux 5.19 */
#define BAWN_LANDLOCK_FS_TRUNCATE    (1ULL << 14) /* ABI 3, Linux 6.2 */
#define BAWN_LANDLOCK_FS_IOCTL_DEV   (1ULL << 15) /* ABI 5, Linux 6.10 */

#define BAWN_LANDLOCK_NET_BIND_TCP    (1ULL << 0) /* ABI 4, Linux 6.7 */
#define BAWN_LANDLOCK_NET_CONNECT_TCP (1ULL << 1)

#define BAWN_LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0) /* ABI 6, Linux 6.12 */
#define BAWN_LANDLOCK_SCOPE_SIGNAL               (1ULL << 1)

#define BAWN_LANDLOCK_CREATE_RULESET_VERSION 1U
#define BAWN_LANDLOCK_RULE_PATH_BENEATH      1

struct bawn_landlock_ruleset_attr {
    __u64 handled_access_fs;
    __u64 handled_access_net; /* ABI 4 */
    __u64 scoped;             /* ABI 6 */
};

struct bawn_landlock_path_beneath_attr {
    __u64 allowed_access;
    __s32 parent_fd;
} __attribute__((packed));
