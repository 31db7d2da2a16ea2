#include "kernel/landlock.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/uapi/landlock.h"

static const uint64_t see_rights =
    BAWN_LANDLOCK_FS_EXECUTE | BAWN_LANDLOCK_FS_READ_FILE | BAWN_LANDLOCK_FS_READ_DIR;

static const uint64_t write_rights = BAWN_LANDLOCK_FS_WRITE_FILE | BAWN_LANDLOCK_FS_REMOVE_DIR |
                                     BAWN_LANDLOCK_FS_REMOVE_FILE | BAWN_LANDLOCK_FS_MAKE_DIR |
                                     BAWN_LANDLOCK_FS_MAKE_REG | BAWN_LANDLOCK_FS_MAKE_SOCK |
                                     BAWN_LANDLOCK_FS_MAKE_FIFO | BAWN_LANDLOCK_FS_MAKE_SYM |
                                     BAWN_LANDLOCK_FS_REFER | BAWN_LANDLOCK_FS_TRUNCATE;

/* Handled, so that no rule allows them: nothing inside needs to make a device. */
static const uint64_t never_rights = BAWN_LANDLOCK_FS_MAKE_CHAR | BAWN_LANDLOCK_FS_MAKE_BLOCK;

/* The rights that a rule on a file may have. */
static const uint64_t file_rights = BAWN_LANDLOCK_FS_EXECUTE | BAWN_LANDLOCK_FS_READ_FILE |
                                    BAWN_LANDLOCK_FS_WRITE_FILE | BAWN_LANDLOCK_FS_TRUNCATE |
                                    BAWN_LANDLOCK_FS_IOCTL_DEV;

int landlock_abi(void)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, BAWN_LANDLOCK_CREATE_RULESET_VERSION);
    return version < 0 ? 0 : (int)version;
}

static uint64_t rights_known_to(int abi)
{
    uint64_t rights = see_rights | write_rights | never_rights | BAWN_LANDLOCK_FS_IOCTL_DEV;
    if (abi < 5)
        rights &= ~BAWN_LANDLOCK_FS_IOCTL_DEV;
    if (abi < 3)
        rights &= ~BAWN_LANDLOCK_FS_TRUNCATE;
    if (abi < 2)
        rights &= ~BAWN_LANDLOCK_FS_REFER;
    return rights;
}

int landlock_begin(int abi, unsigned subjects, struct landlock *ret_landlock, struct err *err)
{
    struct bawn_landlock_ruleset_attr attributes = {.handled_access_fs =
                                                        subjects & LANDLOCK_FILES ? rights_known_to(abi) : 0};
    size_t size = sizeof(attributes.handled_access_fs);
    if (abi >= 4 && subjects & LANDLOCK_TCP)
        attributes.handled_access_net = BAWN_LANDLOCK_NET_BIND_TCP | BAWN_LANDLOCK_NET_CONNECT_TCP;
    if (abi >= 4)
        size = sizeof(attributes.handled_access_fs) + sizeof(attributes.handled_access_net);
    if (abi >= LANDLOCK_ABI_WITH_SCOPES) {
        attributes.scoped = BAWN_LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | BAWN_LANDLOCK_SCOPE_SIGNAL;
        size = sizeof(attributes);
    }
    int fd = (int)syscall(SYS_landlock_create_ruleset, &attributes, size, 0);
    if (fd < 0)
        return err_sys(err, errno, "cannot make a Landlock ruleset");
    *ret_landlock = (struct landlock){fd, attributes.handled_access_fs};
    return 0;
}

static uint64_t rights_of(enum landlock_grant grant)
{
    switch (grant) {
    case LANDLOCK_LIST:
        return BAWN_LANDLOCK_FS_READ_DIR;
    case LANDLOCK_SEE:
        return see_rights;
    case LANDLOCK_WRITE:
        return see_rights | write_rights | BAWN_LANDLOCK_FS_IOCTL_DEV;
    case LANDLOCK_DEVICE:
        return see_rights | BAWN_LANDLOCK_FS_WRITE_FILE | BAWN_LANDLOCK_FS_TRUNCATE |
               BAWN_LANDLOCK_FS_IOCTL_DEV;
    }
    return 0;
}

int landlock_allow(const struct landlock *landlock, int path_fd, enum landlock_grant grant, struct err *err)
{
    uint64_t rights = rights_of(grant) & landlock->handled;
    struct bawn_landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = path_fd};
    if (syscall(SYS_landlock_add_rule, landlock->fd, BAWN_LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0)
        return 0;
    rule.allowed_access = rights & file_rights; /* a file takes no other rights */
    if (errno != EINVAL ||
        syscall(SYS_landlock_add_rule, landlock->fd, BAWN_LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
        return err_sys(err, errno, "cannot add a Landlock rule");
    return 0;
}

int landlock_enforce(struct landlock *landlock, struct err *err)
{
    if (syscall(SYS_landlock_restrict_self, landlock->fd, 0) < 0)
        return err_sys(err, errno, "cannot raise the Landlock wall");
    close(landlock->fd);
    landlock->fd = -1;
    return 0;
}
