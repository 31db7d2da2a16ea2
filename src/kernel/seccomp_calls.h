/*
 * Which system calls exist inside: the whole list, and the only one. tools/seccomp-compile.c turns it into the
 * programs of seccomp.h at build time, by including this file with these macros defined:
 *
 *     ALLOW(name, ...)           exists, whatever its arguments
 *     NAMES(name, ...)           the same; it names a path
 *     REFUSE(errnum, name, ...)  answers with this errno
 *     NESTED(errnum, name, ...)  exists under --nested, answers with this errno otherwise
 *     CHECK(check, name, ...)    its arguments decide: a DEFINE_CHECK of this name
 *     NESTED_CHECK(check, name, ...)  exists under --nested, its arguments decide otherwise
 *     USER_CHECK(check, name, ...)    exists under --nested and for the machine's root, its arguments decide otherwise
 *     ROOT_CHECK(check, name, ...)    its arguments decide where the machine's root started bawn; exists otherwise
 *     ROOT_REFUSE(errnum, name, ...)  answers with this errno there; exists otherwise
 *     OPEN_CHECK(check, own, old, name, ...)  its arguments decide where root started bawn, otherwise without namespaces, and again
 *                                otherwise there on older kernels
 *
 * Eight programs are for walls without namespaces (launch/bare.h): three, each again for runs in which executions are told, and two for `bawn learn`, in which
 * all calls that name a path are passed on. As by default, but for these:
 *
 *     BARE_REFUSE(errnum, name, ...)        answers with this errno there; exists otherwise
 *     BARE_CHECK(check, own, name, ...)     the check of all programs, and that of these
 *     NESTED_BARE_CHECK(check, own, name, ...)  exists under --nested; the check of the others, and that of these
 *     BARE_ONLY(own, name, ...)             the check of these; exists otherwise
 *     TOLD(name, ...)                       passed on where executions are told; exists otherwise
 *     COUNTED(name, ...)                    makes a process: judged there where bawn counts them (seccomp_load_judged()); exists otherwise
 *     JUDGED(name, ...)                     there a process of bawn's judges each call; exists otherwise
 *     JUDGED_MODE(check, name, ...)         the same; where the machine's root started bawn, the arguments decide
 *     JUDGED_OWNER(check, name, ...)        the same; the arguments decide by default
 *     JUDGED_NAME(name, ...)                judged only by the second and third, for plans with frozen paths
 *     JUDGED_NAME_IF(check, name, ...)      the same; the arguments decide in the first
 *     OLD_JUDGED(name, ...), OLD(check, name, ...)  judged, or the arguments decide, only in the third, for kernels whose Landlock knows less
 *
 * What is not named answers ENOSYS, as on an older kernel, so that programs take the way they had before the call was
 * invented. Only where a program would take ENOSYS for a reason to give up, or to do the same in a worse way, is a call
 * refused with another errno: mostly EPERM, which is what the kernel says to whom has no privilege. A call that the
 * target's architecture lacks is passed over; a name that nobody knows stops the build.
 *
 *     DEFINE_CHECK(check, step, ...)
 *
 * Steps are taken in order, and the first verdict counts: ALLOWED, NAMED (as NAMES), ERRNO(errnum), JUDGE, COUNTS (as COUNTED) or
 * THEN(check), a check defined later.
 *
 *     LOW(n), HIGH(n)            look at this half of argument n. Of most arguments the kernel uses the lower
 *                                half, so a comparison of all 64 bits is evaded by setting bit 32 (CVE-2019-10063)
 *     MASK(bits)                 of what is looked at, keep these bits
 *     EQUAL(value, verdict)      if it is this value
 *     MASK_ON(x86_64, aarch64), EQUAL_ON(x86_64, aarch64, verdict)   the same, where the architectures have other numbers
 *     ANY(bits, verdict)         if any of these bits is set
 *     ABOVE(value, verdict)      if it is larger
 *     OTHERWISE(verdict)         ends every check
 */

/* clang-format off */

/* --- what every program does ------------------------------------------------------------------------------------- */

/* Files. Mounts and Landlock say which; these only say that there are such things as files. */
ALLOW(close, close_range, dup, dup2, dup3, flock, lseek)
OLD(no_owner, fcntl)
DEFINE_CHECK(no_owner, /* who gets a descriptor's signals: without scopes that could be any program of the user's */
    LOW(1),
    EQUAL(F_SETOWN, ERRNO(EPERM)),
    EQUAL(F_SETOWN_EX, ERRNO(EPERM)),
    OTHERWISE(ALLOWED))
ALLOW(read, write, readv, writev, pread64, pwrite64, preadv, pwritev, preadv2, pwritev2)
NAMES(stat, lstat, newfstatat, statx, access, faccessat, faccessat2, readlink, readlinkat)
ALLOW(fstat, statfs, fstatfs, getdents, getdents64, getcwd, fchdir)
NAMES(chdir, mkdir, mkdirat, symlink, symlinkat)
ALLOW(umask, ftruncate, fallocate)
OLD_JUDGED(truncate) /* Landlock knows it since version 3 */
JUDGED_NAME(rename, renameat, renameat2, rmdir)
JUDGED(link, linkat, unlink) /* also of names in /dev/shm */
JUDGED_NAME_IF(bare_unlink, unlinkat)
DEFINE_CHECK(bare_unlink,
    LOW(0),
    EQUAL(0xffffff9cU, JUDGE), /* AT_FDCWD: libc's unlink(), where the kernel has no call of that name */
    OTHERWISE(ALLOWED))
JUDGED(utime, utimes, utimensat, futimesat) /* Landlock knows no right to change times, modes, owners and attributes */
ALLOW(fsync, fdatasync, sync, syncfs, sync_file_range, fadvise64, readahead, cachestat)
ALLOW(pipe, pipe2, sendfile, splice, tee, vmsplice, copy_file_range)
ALLOW(getxattr, lgetxattr, fgetxattr, getxattrat, listxattr, llistxattr, flistxattr, listxattrat)
JUDGED(setxattr, lsetxattr, fsetxattr, removexattr, lremovexattr, fremovexattr)
BARE_REFUSE(ENOSYS, setxattrat, removexattrat)
ALLOW(file_getattr) /* what chattr does by ioctl, for an open file or a path */
BARE_REFUSE(ENOSYS, file_setattr)
ALLOW(inotify_init, inotify_init1, inotify_add_watch, inotify_rm_watch)
ALLOW(statmount, listmount) /* tell no more than /proc/self/mountinfo does: the sandbox's own mounts, below its root */
ALLOW(name_to_handle_at) /* the number of a file, which tools compare. Opening by it is refused below */

/* Memory. */
ALLOW(brk, mmap, munmap, mremap, mprotect, madvise, mincore, msync, mlock, mlock2, munlock, mlockall, munlockall)
ALLOW(pkey_alloc, pkey_free, pkey_mprotect, mseal, map_shadow_stack, membarrier, memfd_create)

/* Processes, threads and signals: those of the sandbox's own pid namespace. */
TOLD(execve, execveat) /* for --log-exec and guards, which have a listener of their own with namespaces */
COUNTED(fork, vfork)
ALLOW(exit, exit_group, wait4, waitid)
ALLOW(getpid, getppid, gettid, getpgid, getpgrp, getsid, setsid)
BARE_ONLY(bare_second, setpgid) /* a group that is not new may be a job of the host's, in the same session */
OLD_JUDGED(kill, tkill, tgkill, rt_sigqueueinfo, rt_tgsigqueueinfo, pidfd_send_signal) /* scopes: since version 6 */
ALLOW(pause, restart_syscall, sigaltstack, rt_sigaction, rt_sigpending, rt_sigprocmask)
ALLOW(rt_sigreturn, rt_sigsuspend, rt_sigtimedwait, signalfd, signalfd4)
ALLOW(pidfd_open, pidfd_getfd)
ALLOW(set_tid_address, set_robust_list, get_robust_list, rseq, rseq_slice_yield, arch_prctl)
ALLOW(futex, futex_waitv, futex_wait, futex_wake, futex_requeue)
ALLOW(getcpu, sched_yield, sched_getaffinity, sched_getattr, sched_getparam, sched_getscheduler)
ALLOW(sched_get_priority_max, sched_get_priority_min, sched_rr_get_interval, getpriority, ioprio_get)
ALLOW(getrlimit, getrusage, times)
/* The kernel itself sends a process through these two when somebody on the host traces it. */
ALLOW(uretprobe, uprobe)

/* Identity. Nobody here has a capability to gain. */
ALLOW(getuid, geteuid, getgid, getegid, getresuid, getresgid, getgroups, capget, capset)
ALLOW(setfsuid, setfsgid, setgroups)

/* Time: to read and to wait for. */
ALLOW(time, gettimeofday, clock_gettime, clock_getres, nanosleep, clock_nanosleep, alarm, getitimer, setitimer)
ALLOW(timer_create, timer_settime, timer_gettime, timer_getoverrun, timer_delete)
ALLOW(timerfd_create, timerfd_settime, timerfd_gettime)

/* Waiting for many things. io_submit and its kin are what database servers in a project's tests write with. */
ALLOW(poll, ppoll, select, pselect6, eventfd, eventfd2)
ALLOW(epoll_create, epoll_create1, epoll_ctl, epoll_wait, epoll_pwait, epoll_pwait2)
ALLOW(io_setup, io_destroy, io_submit, io_cancel, io_getevents, io_pgetevents)

/* Sockets, once made; `socket` below says which can be made. */
ALLOW(accept, accept4, shutdown, getsockopt, recvmmsg)
/*
 * Without a namespace bawn makes, binds and connects sockets. The calls of the second line are judged to fill in addresses (bare_sockets.h in
 * launch), and those of the third where a filter sees an address. With MSG_FASTOPEN sending connects.
 */
JUDGED(connect, bind, listen)
JUDGED(getsockname, getpeername, recvmsg)
BARE_ONLY(has_address, recvfrom)
BARE_ONLY(flags_in_3, sendto)
BARE_ONLY(flags_in_2, sendmsg)
BARE_ONLY(many_flags_in_3, sendmmsg)
BARE_ONLY(socket_options, setsockopt)
DEFINE_CHECK(flags_in_3,
    LOW(3),
    ANY(MSG_FASTOPEN, ERRNO(EOPNOTSUPP)),
    OTHERWISE(THEN(has_address)))
DEFINE_CHECK(flags_in_2,
    LOW(2),
    ANY(MSG_FASTOPEN, ERRNO(EOPNOTSUPP)),
    OTHERWISE(ALLOWED))
DEFINE_CHECK(many_flags_in_3,
    LOW(3),
    ANY(MSG_FASTOPEN, ERRNO(EOPNOTSUPP)),
    OTHERWISE(ALLOWED))
DEFINE_CHECK(has_address,
    LOW(4),
    ANY(0xffffffffU, JUDGE),
    HIGH(4),
    ANY(0xffffffffU, JUDGE),
    OTHERWISE(ALLOWED))
/* A socket for DNS is not an internet socket, and lacks their options. Programs take a refusal for an unreachable resolver. */
DEFINE_CHECK(socket_options,
    LOW(1),
    EQUAL(SOL_SOCKET, THEN(general_option)),
    EQUAL(IPPROTO_IP, THEN(ip_option)),
    EQUAL(IPPROTO_IPV6, THEN(ipv6_option)),
    EQUAL(IPPROTO_TCP, THEN(tcp_option)),
    OTHERWISE(ALLOWED))
DEFINE_CHECK(general_option,
    LOW(2),
    EQUAL(SO_REUSEPORT, JUDGE), /* only bawn sets it (bare_sockets.h in launch) */
    EQUAL(SO_BINDTODEVICE, ERRNO(EPERM)), /* as for everybody before Linux 5.7 */
    EQUAL(SO_BINDTOIFINDEX, ERRNO(EPERM)),
    OTHERWISE(ALLOWED))
DEFINE_CHECK(ip_option,
    LOW(2),
    EQUAL(IP_RECVERR, ERRNO(0)),
    EQUAL(IP_OPTIONS, ERRNO(EOPNOTSUPP)),
    OTHERWISE(JUDGE))
DEFINE_CHECK(ipv6_option,
    LOW(2),
    EQUAL(IPV6_RECVERR, ERRNO(0)),
    EQUAL(IPV6_V6ONLY, ALLOWED),
    OTHERWISE(JUDGE))
DEFINE_CHECK(tcp_option,
    LOW(2),
    EQUAL(TCP_FASTOPEN_CONNECT, ERRNO(EOPNOTSUPP)),
    OTHERWISE(ALLOWED))

/* System V and POSIX objects: the ipc namespace is the sandbox's own. */
BARE_REFUSE(ENOSYS, shmget, shmat, shmdt, shmctl, semget, semop, semtimedop, semctl, msgget, msgsnd, msgrcv, msgctl)
BARE_REFUSE(ENOSYS, mq_open, mq_unlink, mq_timedsend, mq_timedreceive, mq_notify, mq_getsetattr)

/* The machine, to look at. */
ALLOW(uname, sysinfo, getrandom)

/* --- what tools of the trade do ------------------------------------------------------------------------------------ */

/* Debuggers, on processes of the same user in the same pid namespace. Tracing does not lead round a filter. */
ALLOW(ptrace, process_vm_readv, process_vm_writev, process_madvise, kcmp)

/* A program that locks itself in further. A filter or a ruleset that is added can only take away. */
ALLOW(prctl, seccomp)
/* bawn carries out judged calls, and a ruleset of the program's would not bind bawn. So the program gets none, and knows it. */
BARE_REFUSE(EOPNOTSUPP, landlock_create_ruleset, landlock_add_rule, landlock_restrict_self)

/* --- what the arguments decide ------------------------------------------------------------------------------------- */

/*
 * Without namespaces no mount is read-only. A descriptor that may only read is enough for flags, attributes, versions, verity and
 * encryption of a file that one owns.
 */
DEFINE_CHECK(bare_requests,
    LOW(1),
    EQUAL(FIOSETOWN, ERRNO(EPERM)), /* as F_SETOWN */
    EQUAL(SIOCSPGRP, ERRNO(EPERM)),
    EQUAL(TIOCGPTPEER, JUDGE), /* the other end of a pseudo terminal: opened by bawn, as Landlock's rules have it closed */
    EQUAL(TIOCSPGRP, JUDGE), /* the terminal would be given to a job of the host's, whom the next Ctrl-C ends */
    EQUAL(FS_IOC_GETFLAGS, ALLOWED),
    EQUAL(FS_IOC_FSGETXATTR, ALLOWED),
    EQUAL(FS_IOC_FIEMAP, ALLOWED),
    EQUAL(FAT_SET_ATTRIBUTES, ERRNO(ENOTTY)), /* a chmod() of FAT and exFAT */
    MASK(REQUEST_TYPE),
    EQUAL(FLAGS_REQUESTS, ERRNO(ENOTTY)),
    EQUAL(XFS_REQUESTS, ERRNO(ENOTTY)),
    EQUAL(VERSION_REQUESTS, ERRNO(ENOTTY)),
    OTHERWISE(THEN(requests)))

/*
 * Requests that are refused, and why. docs/walls/seccomp.md lists all that were looked at.
 *
 *   terminals     typing into the caller's terminal is a way out of every sandbox that shares one
 *   defragmenting gives a file the blocks of another, with any content, and sets no time: a snapshot would take the file for unchanged
 *   f2fs          also discards blocks (F2FS_IOC_SEC_TRIM_FILE), or replaces a file later. Programs need none of its requests
 *   encryption    without its key, every file of a directory has another name and cannot be opened, and no time says so
 */
BARE_CHECK(requests, bare_requests, ioctl)
DEFINE_CHECK(requests,
    LOW(1),
    EQUAL(TIOCSTI, ERRNO(EPERM)),
    EQUAL(TIOCLINUX, ERRNO(EPERM)),
    EQUAL(TIOCSETD, ERRNO(EPERM)), /* line disciplines: loaded for anybody who asks, and used by no program here */
    EQUAL(XFS_EXCHANGE_EXTENTS, ERRNO(ENOTTY)),
    EQUAL(EXT4_MOVE_EXTENTS, ERRNO(ENOTTY)),
    EQUAL(FS_IOC_REMOVE_ENCRYPTION_KEY, ERRNO(ENOTTY)),
    MASK(REQUEST_TYPE),
    EQUAL(BTRFS_REQUESTS, THEN(shares_blocks)),
    EQUAL(BCACHEFS_REQUESTS, ERRNO(ENOTTY)),
    EQUAL(F2FS_REQUESTS, ERRNO(ENOTTY)),
    OTHERWISE(ALLOWED))

/*
 * A snapshot of btrfs is a second tree with the content of the first, and nothing is mounted in it: hidden, sealed and frozen files
 * would be open there. Before Linux 6.7 one folder of a subvolume was enough to make a snapshot of the whole, which usually has all
 * homes. The three requests that other file systems share with this type only share blocks between files that are open already.
 */
DEFINE_CHECK(shares_blocks,
    LOW(1),
    EQUAL(FICLONE, ALLOWED),
    EQUAL(FICLONERANGE, ALLOWED),
    EQUAL(FIDEDUPERANGE, ALLOWED),
    OTHERWISE(ERRNO(ENOTTY)))

/*
 * Process 1 is bawn's own and has the same id: its limits can be read, and not set.
 *
 * The size of a core cannot be set either: at 0 the kernel would start a helper of root's on the host for every crash. A program that sets
 * it wants no core, and there is none: it is told that the limit was set. If it asks for the old limit in the same call, it gets EPERM,
 * because nobody would write the old one down.
 */
BARE_CHECK(limits_of, bare_limits_of, prlimit64)
DEFINE_CHECK(bare_limits_of,
    LOW(0),
    EQUAL(0, THEN(limits_of)),
    LOW(1),
    EQUAL(RLIMIT_CORE, THEN(core_of)), /* whosever: the judge decides about processes, and not about limits */
    OTHERWISE(JUDGE))
DEFINE_CHECK(limits_of,
    LOW(0),
    EQUAL(1, THEN(only_asks)),
    LOW(1),
    EQUAL(RLIMIT_CORE, THEN(core_of)),
    OTHERWISE(ALLOWED))
DEFINE_CHECK(core_of,
    LOW(3),
    ANY(0xffffffffU, THEN(only_asks)),
    LOW(2),
    ANY(0xffffffffU, ERRNO(0)),
    HIGH(2),
    ANY(0xffffffffU, ERRNO(0)),
    OTHERWISE(ALLOWED))
CHECK(own_limits, setrlimit)
DEFINE_CHECK(own_limits,
    LOW(0),
    EQUAL(RLIMIT_CORE, ERRNO(0)),
    OTHERWISE(ALLOWED))
DEFINE_CHECK(only_asks,
    LOW(2),
    ANY(0xffffffffU, ERRNO(EPERM)),
    HIGH(2),
    ANY(0xffffffffU, ERRNO(EPERM)),
    OTHERWISE(ALLOWED))

/*
 * The user namespace of an ordinary user has one id. For any other the kernel answers EINVAL there: it knows no such id.
 * Outside it answers EPERM. Programs expect that, and go on without the change. -1 leaves an id as it is.
 */
JUDGED_OWNER(owner_in_1, chown, lchown, fchown)
JUDGED_OWNER(owner_in_2, fchownat)
USER_CHECK(user_in_0, setuid)
USER_CHECK(users_in_0, setreuid)
USER_CHECK(all_users, setresuid)
USER_CHECK(group_in_0, setgid)
USER_CHECK(groups_in_0, setregid)
USER_CHECK(all_groups, setresgid)
#define DEFINE_ID_CHECK(check, n, own, verdict)                                                          \
    DEFINE_CHECK(check, LOW(n), EQUAL(0xffffffffU, verdict), EQUAL(own, verdict), OTHERWISE(ERRNO(EPERM)))
DEFINE_ID_CHECK(owner_in_1, 1, SECCOMP_OWN_UID, THEN(group_in_2))
DEFINE_ID_CHECK(owner_in_2, 2, SECCOMP_OWN_UID, THEN(group_in_3))
DEFINE_ID_CHECK(all_users, 2, SECCOMP_OWN_UID, THEN(users_in_0))
DEFINE_ID_CHECK(users_in_0, 1, SECCOMP_OWN_UID, THEN(user_in_0))
DEFINE_ID_CHECK(user_in_0, 0, SECCOMP_OWN_UID, ALLOWED)
DEFINE_ID_CHECK(all_groups, 2, SECCOMP_OWN_GID, THEN(groups_in_0))
DEFINE_ID_CHECK(groups_in_0, 1, SECCOMP_OWN_GID, THEN(group_in_0))
DEFINE_ID_CHECK(group_in_0, 0, SECCOMP_OWN_GID, ALLOWED)
DEFINE_ID_CHECK(group_in_2, 2, SECCOMP_OWN_GID, ALLOWED)
DEFINE_ID_CHECK(group_in_3, 3, SECCOMP_OWN_GID, ALLOWED)
#undef DEFINE_ID_CHECK

/*
 * Nobody changes the place of process 1 in the scheduler: without a processor it reaps nobody and passes no signal on. A
 * process group may be that of process 1, and a user's processes include it: only single processes can be named.
 */
BARE_CHECK(schedules, bare_process, sched_setaffinity, sched_setattr, sched_setparam, sched_setscheduler)
DEFINE_CHECK(schedules,
    LOW(0),
    EQUAL(1, ERRNO(EPERM)),
    OTHERWISE(ALLOWED))
BARE_CHECK(priority_of, bare_priority_of, setpriority)
DEFINE_CHECK(priority_of,
    LOW(0),
    EQUAL(PRIO_PGRP, ERRNO(EPERM)),
    EQUAL(PRIO_USER, ERRNO(EPERM)),
    OTHERWISE(THEN(second_is_not_1)))
BARE_CHECK(io_priority_of, bare_io_priority_of, ioprio_set)
DEFINE_CHECK(io_priority_of,
    LOW(0),
    EQUAL(IOPRIO_GROUP, ERRNO(EPERM)),
    EQUAL(IOPRIO_USER, ERRNO(EPERM)),
    OTHERWISE(THEN(second_is_not_1)))
DEFINE_CHECK(second_is_not_1,
    LOW(1),
    EQUAL(1, ERRNO(EPERM)),
    OTHERWISE(ALLOWED))
/* Without a pid namespace the user's other programs can be named too. Zero is the caller itself. */
DEFINE_CHECK(bare_process,
    LOW(0),
    EQUAL(0, ALLOWED),
    OTHERWISE(JUDGE))
DEFINE_CHECK(bare_priority_of,
    LOW(0),
    EQUAL(PRIO_PROCESS, THEN(bare_second)),
    OTHERWISE(ERRNO(EPERM)))
DEFINE_CHECK(bare_io_priority_of,
    LOW(0),
    EQUAL(IOPRIO_PROCESS, THEN(bare_second)),
    OTHERWISE(ERRNO(EPERM)))
DEFINE_CHECK(bare_second,
    LOW(1),
    EQUAL(0, ALLOWED),
    OTHERWISE(JUDGE))

/*
 * What the machine's root has in the workspace stays root's, also what is made inside: a set-uid program there would make
 * root of whoever runs it on the host, and a set-gid one a member of root's group. A filter cannot tell a directory from a file: there
 * the bit is inherited, and cannot be set. mknod is for FIFOs; for devices the kernel wants a capability that nobody has here.
 */
JUDGED_MODE(mode_in_1, chmod, fchmod)
JUDGED_MODE(mode_in_2, fchmodat, fchmodat2)
ROOT_CHECK(mode_in_1, creat, mknod)
ROOT_CHECK(mode_in_2, mknodat)
OPEN_CHECK(made_by_1, bare_open_1, old_open_1, open)
OPEN_CHECK(made_by_2, bare_open_2, old_open_2, openat)
DEFINE_CHECK(made_by_1,
    LOW(1),
    ANY(O_CREAT | JUST_O_TMPFILE, THEN(mode_in_2)), /* the mode counts only where a file is made */
    OTHERWISE(ALLOWED))
DEFINE_CHECK(made_by_2,
    LOW(2),
    ANY(O_CREAT | JUST_O_TMPFILE, THEN(mode_in_3)),
    OTHERWISE(ALLOWED))
DEFINE_CHECK(mode_in_1,
    LOW(1),
    ANY(S_ISUID | S_ISGID, ERRNO(EPERM)),
    OTHERWISE(ALLOWED))
DEFINE_CHECK(mode_in_2,
    LOW(2),
    ANY(S_ISUID | S_ISGID, ERRNO(EPERM)),
    OTHERWISE(ALLOWED))
DEFINE_CHECK(mode_in_3,
    LOW(3),
    ANY(S_ISUID | S_ISGID, ERRNO(EPERM)),
    OTHERWISE(ALLOWED))

/*
 * Without namespaces, opens that look like one of a pseudo terminal by its name (O_RDWR | O_NOCTTY), of shared memory (shm_open) or
 * of a semaphore (sem_open, as mkstemp) are judged: bawn gives what Landlock's rules have closed, and lets all others go on.
 *
 * An access mode of O_ACCMODE, both bits, is for ioctls alone. Landlock asks for no right then, whatever the file, and before its
 * version 3 O_TRUNC empties that file; before version 5 a device's ioctls work.
 */
DEFINE_CHECK(old_open_1, /* O_RDONLY | O_TRUNC empties a file that may only be read, before version 3 of Landlock */
    LOW(1),
    MASK(O_ACCMODE | O_TRUNC),
    EQUAL(O_TRUNC, ERRNO(EACCES)),
    OTHERWISE(THEN(bare_open_1)))
DEFINE_CHECK(old_open_2,
    LOW(2),
    MASK(O_ACCMODE | O_TRUNC),
    EQUAL(O_TRUNC, ERRNO(EACCES)),
    OTHERWISE(THEN(bare_open_2)))
DEFINE_CHECK(bare_open_1,
    LOW(1),
    MASK(O_ACCMODE),
    EQUAL(O_ACCMODE, ERRNO(EACCES)),
    LOW(1),
    ANY(O_CREAT | JUST_O_TMPFILE, THEN(bare_made_1)),
    MASK(O_ACCMODE | O_NOCTTY | JUST_O_PATH),
    EQUAL(O_RDWR | O_NOCTTY, JUDGE),
    LOW(1),
    MASK_ON(O_CLOEXEC | X86_64_NOFOLLOW | X86_64_DIRECTORY | JUST_O_PATH,
            O_CLOEXEC | AARCH64_NOFOLLOW | AARCH64_DIRECTORY | JUST_O_PATH),
    EQUAL_ON(O_CLOEXEC | X86_64_NOFOLLOW, O_CLOEXEC | AARCH64_NOFOLLOW, JUDGE),
    OTHERWISE(NAMED))
DEFINE_CHECK(bare_open_2,
    LOW(2),
    MASK(O_ACCMODE),
    EQUAL(O_ACCMODE, ERRNO(EACCES)),
    LOW(2),
    ANY(O_CREAT | JUST_O_TMPFILE, THEN(bare_made_2)),
    MASK(O_ACCMODE | O_NOCTTY | JUST_O_PATH),
    EQUAL(O_RDWR | O_NOCTTY, JUDGE),
    LOW(2),
    MASK_ON(O_CLOEXEC | X86_64_NOFOLLOW | X86_64_DIRECTORY | JUST_O_PATH,
            O_CLOEXEC | AARCH64_NOFOLLOW | AARCH64_DIRECTORY | JUST_O_PATH),
    EQUAL_ON(O_CLOEXEC | X86_64_NOFOLLOW, O_CLOEXEC | AARCH64_NOFOLLOW, JUDGE),
    OTHERWISE(NAMED))
DEFINE_CHECK(bare_made_1,
    LOW(2),
    ANY(S_ISUID | S_ISGID, ERRNO(EPERM)),
    MASK(07777),
    EQUAL(READ_ONLY_MODE, NAMED),
    LOW(1),
    EQUAL(O_RDWR | O_CREAT | O_EXCL, JUDGE),
    MASK_ON(O_CLOEXEC | X86_64_NOFOLLOW | X86_64_DIRECTORY | JUST_O_PATH,
            O_CLOEXEC | AARCH64_NOFOLLOW | AARCH64_DIRECTORY | JUST_O_PATH),
    EQUAL_ON(O_CLOEXEC | X86_64_NOFOLLOW, O_CLOEXEC | AARCH64_NOFOLLOW, JUDGE),
    OTHERWISE(NAMED))
DEFINE_CHECK(bare_made_2,
    LOW(3),
    ANY(S_ISUID | S_ISGID, ERRNO(EPERM)),
    MASK(07777),
    EQUAL(READ_ONLY_MODE, NAMED),
    LOW(2),
    EQUAL(O_RDWR | O_CREAT | O_EXCL, JUDGE),
    MASK_ON(O_CLOEXEC | X86_64_NOFOLLOW | X86_64_DIRECTORY | JUST_O_PATH,
            O_CLOEXEC | AARCH64_NOFOLLOW | AARCH64_DIRECTORY | JUST_O_PATH),
    EQUAL_ON(O_CLOEXEC | X86_64_NOFOLLOW, O_CLOEXEC | AARCH64_NOFOLLOW, JUDGE),
    OTHERWISE(NAMED))

/* Its mode lies in memory, where a filter cannot look. Programs that use it know kernels before 5.6, and fall back to openat. */
ROOT_REFUSE(ENOSYS, openat2)

/*
 * Families that few programs use are where the kernel is weakest, and it loads them for anybody who asks. Of netlink,
 * libc needs routes and addresses (getifaddrs); the other protocols configure firewalls, IPsec and audit.
 */
BARE_CHECK(family, bare_family, socket)
BARE_CHECK(family, bare_pair, socketpair)
DEFINE_CHECK(family,
    LOW(0),
    EQUAL(AF_UNIX, ALLOWED),
    EQUAL(AF_INET, THEN(inet)),
    EQUAL(AF_INET6, THEN(inet)),
    EQUAL(AF_NETLINK, THEN(netlink)),
    OTHERWISE(ERRNO(EAFNOSUPPORT)))
/* A datagram socket of Unix sends to any path without connecting. */
DEFINE_CHECK(bare_family,
    LOW(0),
    EQUAL(AF_UNIX, THEN(bare_unix)),
    EQUAL(AF_NETLINK, THEN(netlink)),
    EQUAL(AF_INET, THEN(bare_inet)),
    EQUAL(AF_INET6, THEN(bare_inet)),
    OTHERWISE(ERRNO(EAFNOSUPPORT)))
DEFINE_CHECK(bare_unix,
    LOW(1),
    MASK(SOCKET_TYPE),
    EQUAL(SOCK_STREAM, JUDGE),
    EQUAL(SOCK_SEQPACKET, JUDGE),
    OTHERWISE(ERRNO(EPROTONOSUPPORT)))
DEFINE_CHECK(bare_pair,
    LOW(0),
    EQUAL(AF_UNIX, THEN(bare_unix_pair)),
    OTHERWISE(ERRNO(EAFNOSUPPORT)))
DEFINE_CHECK(bare_unix_pair,
    LOW(1),
    MASK(SOCKET_TYPE),
    EQUAL(SOCK_STREAM, ALLOWED),
    EQUAL(SOCK_SEQPACKET, ALLOWED),
    OTHERWISE(ERRNO(EPROTONOSUPPORT)))
DEFINE_CHECK(bare_inet,
    LOW(1),
    MASK(SOCKET_TYPE),
    EQUAL(SOCK_STREAM, THEN(bare_stream)),
    EQUAL(SOCK_DGRAM, THEN(bare_datagram)),
    EQUAL(SOCK_RAW, ERRNO(EPERM)),
    OTHERWISE(ERRNO(EPROTONOSUPPORT)))
DEFINE_CHECK(bare_stream,
    LOW(2),
    EQUAL(IPPROTO_IP, JUDGE),
    EQUAL(IPPROTO_TCP, JUDGE),
    EQUAL(IPPROTO_MPTCP, JUDGE), /* which becomes TCP */
    OTHERWISE(ERRNO(EPROTONOSUPPORT)))
DEFINE_CHECK(bare_datagram,
    LOW(2),
    EQUAL(IPPROTO_IP, JUDGE),
    EQUAL(IPPROTO_UDP, JUDGE),
    EQUAL(IPPROTO_ICMP, ERRNO(EACCES)), /* as where the kernel lets nobody ping */
    EQUAL(IPPROTO_ICMPV6, ERRNO(EACCES)),
    OTHERWISE(ERRNO(EPROTONOSUPPORT)))
DEFINE_CHECK(netlink,
    LOW(2),
    EQUAL(NETLINK_ROUTE, ALLOWED),
    OTHERWISE(ERRNO(EPROTONOSUPPORT)))

/* Within the internet families likewise: no SCTP, DCCP, SMC. SOCK_PACKET there would become a packet socket. */
DEFINE_CHECK(inet,
    LOW(1),
    MASK(SOCKET_TYPE),
    ABOVE(SOCK_RAW, ERRNO(EPROTONOSUPPORT)),
    LOW(2),
    EQUAL(IPPROTO_IP, ALLOWED),      /* the usual one of the type */
    EQUAL(IPPROTO_TCP, ALLOWED),
    EQUAL(IPPROTO_UDP, ALLOWED),
    EQUAL(IPPROTO_ICMP, ALLOWED),    /* ping, where the kernel allows it */
    EQUAL(IPPROTO_ICMPV6, ALLOWED),
    EQUAL(IPPROTO_RAW, ALLOWED),     /* EPERM from the kernel, which tells traceroute more than our errno would */
    EQUAL(IPPROTO_MPTCP, ALLOWED),   /* Go listens with it where it can */
    OTHERWISE(ERRNO(EPROTONOSUPPORT)))

/* A thread or a process, but not in a namespace of its own. */
NESTED_BARE_CHECK(no_namespace, bare_clone, clone)
DEFINE_CHECK(no_namespace,
    LOW(0),
    ANY(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET,
        ERRNO(EPERM)),
    OTHERWISE(ALLOWED))
/* A process that shares the descriptors of its parent: the judge is told of it, and allows it (kernel/callers.h). */
DEFINE_CHECK(bare_clone,
    LOW(0),
    ANY(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET,
        ERRNO(EPERM)),
    MASK(CLONE_FILES | CLONE_THREAD),
    EQUAL(CLONE_FILES, JUDGE),
    OTHERWISE(COUNTS))

/* Only what is known to be no namespace: new kernels give a meaning to flags that had none. */
NESTED_CHECK(known_unshare, unshare)
DEFINE_CHECK(known_unshare,
    HIGH(0),
    ANY(0xffffffffU, ERRNO(EPERM)),
    LOW(0),
    ANY(~(uint32_t)(CLONE_FS | CLONE_FILES | CLONE_SYSVSEM), ERRNO(EPERM)),
    OTHERWISE(ALLOWED))

/* For debuggers (no address randomisation) and `linux32`. The rest turns off what the kernel protects memory with. */
CHECK(persona, personality)
DEFINE_CHECK(persona,
    LOW(0),
    EQUAL(0xffffffffU, ALLOWED), /* only asks */
    ANY(~(uint32_t)(PER_LINUX32 | UNAME26 | ADDR_NO_RANDOMIZE), ERRNO(EPERM)),
    OTHERWISE(ALLOWED))

/* --- what is refused, and how -------------------------------------------------------------------------------------- */

/* Namespaces and mounts: only a sandbox inside the sandbox needs them. */
NESTED(EPERM, setns, mount, umount2, pivot_root, chroot, sethostname, setdomainname)
NESTED(EPERM, open_tree, open_tree_attr, move_mount, mount_setattr, fsopen, fsconfig, fsmount, fspick)

/* Its flags lie in memory, where a filter cannot look. libc then uses clone, whose flags can be seen. */
REFUSE(ENOSYS, clone3)

/* Carries out calls that no filter sees. Runtimes that use it ask first, and take epoll. */
REFUSE(ENOSYS, io_uring_setup, io_uring_enter, io_uring_register)

/* Keys hang on the caller's session, which the command inherits: no namespace hides them. */
REFUSE(ENOSYS, keyctl, add_key, request_key)

/* Large and privileged in spirit: tools say "not permitted" and go on, as on a hardened machine. */
REFUSE(EPERM, bpf, perf_event_open, userfaultfd, fanotify_init, fanotify_mark)

/* The host's log, and files by number, whatever directory they lie in. */
REFUSE(EPERM, syslog, open_by_handle_at)

/* The machine's administration. */
REFUSE(EPERM, reboot, kexec_load, kexec_file_load, init_module, finit_module, delete_module, swapon, swapoff, acct)
REFUSE(EPERM, quotactl, quotactl_fd, vhangup, iopl, ioperm, settimeofday, clock_settime, clock_adjtime, adjtimex)

/*
 * Rare or retired, and not missed: a kernel built without NUMA, secret memory or local descriptor tables has none of
 * these either, and programs know such kernels.
 */
REFUSE(ENOSYS, mbind, get_mempolicy, set_mempolicy, set_mempolicy_home_node, migrate_pages, move_pages)
REFUSE(ENOSYS, memfd_secret, process_mrelease, remap_file_pages, modify_ldt)
REFUSE(ENOSYS, lsm_get_self_attr, lsm_set_self_attr, lsm_list_modules, listns)
REFUSE(ENOSYS, lookup_dcookie, nfsservctl, uselib, ustat, sysfs, _sysctl)
