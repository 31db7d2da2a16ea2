/*
 * What the seccomp programs mean, call by call, for both architectures: every number against expect.txt, and the calls
 * whose arguments decide, one argument after the other. Values are written as numbers here where the programs are made
 * from names, so that the same wrong name cannot be in both.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/attr.h"
#include "emulate.h"
#include "unit.h"

extern const struct seccomp_program seccomp_programs_x86_64[SECCOMP_KINDS];
extern const struct seccomp_program seccomp_programs_aarch64[SECCOMP_KINDS];

enum { X86_64, AARCH64, ARCHES, NUMBERS = 601 };

static const struct {
    const char *name;
    uint32_t audit;
    const struct seccomp_program *programs;
} arches[ARCHES] = {
    [X86_64] = {"x86_64", 0xc000003e, seccomp_programs_x86_64},
    [AARCH64] = {"aarch64", 0xc00000b7, seccomp_programs_aarch64},
};

enum {
    ALLOW = 0x7fff0000,
    ERRNO = 0x00050000,
    BY_ARGUMENTS = -1, /* in expect.txt: tested by hand below */
};
#define KILL_PROCESS 0x80000000U
#define JUDGE        0x7fc00000U /* SECCOMP_RET_USER_NOTIF */
#define COUNTED      0x7fc00001U /* until the program is loaded (test_live.c) */

#ifdef __x86_64__
#define NATIVE 0xc000003e
#else
#define NATIVE 0xc00000b7
#endif

/* --- expect.txt -------------------------------------------------------------------------------------------------------- */

struct expectation {
    char name[32];
    int64_t actions[SECCOMP_KINDS];
};

/* By architecture and number; a call without a name is one that the file does not have. */
static struct expectation expected[ARCHES][NUMBERS];

static bool read_action(const char *word, int64_t *ret_action)
{
    static const struct {
        const char *word;
        int64_t action;
    } words[] = {{"allow", ALLOW},          {"args", BY_ARGUMENTS},      {"judge", JUDGE},
                 {"ENOSYS", ERRNO | 38},    {"EPERM", ERRNO | 1},        {"EACCES", ERRNO | 13},
                 {"EOPNOTSUPP", ERRNO | 95}, {"counted", COUNTED}};
    for (size_t i = 0; i < array_len(words); i++) {
        if (strcmp(words[i].word, word) == 0) {
            *ret_action = words[i].action;
            return true;
        }
    }
    return false;
}

/* "root=args", where a program answers otherwise than the default one. Each word holds for its program, and those that have more. */
static bool read_other(const char *word, struct expectation *call)
{
#define FULL_KINDS  (1U << SECCOMP_DEFAULT | 1U << SECCOMP_NESTED | 1U << SECCOMP_ROOT) /* with namespaces */
#define TOLD_KINDS  (1U << SECCOMP_BARE_TOLD | 1U << SECCOMP_BARE_FROZEN_TOLD | 1U << SECCOMP_BARE_OLD_TOLD)
#define LEARN_KINDS (1U << SECCOMP_BARE_LEARN | 1U << SECCOMP_BARE_OLD_LEARN)
#define OLD_KINDS   (1U << SECCOMP_BARE_OLD | 1U << SECCOMP_BARE_OLD_TOLD | 1U << SECCOMP_BARE_OLD_LEARN)
    static const struct {
        const char *name;
        unsigned kinds;
    } words[] = {
        {"root=", 1U << SECCOMP_ROOT},
        {"bare=", ~FULL_KINDS},
        {"frozen=", ~(FULL_KINDS | 1U << SECCOMP_BARE | 1U << SECCOMP_BARE_TOLD)},
        {"old=", OLD_KINDS},
        {"told=", TOLD_KINDS | LEARN_KINDS},
        {"learn=", LEARN_KINDS},
    };
    for (size_t i = 0; i < array_len(words); i++) {
        size_t size = strlen(words[i].name);
        if (strncmp(word, words[i].name, size) != 0)
            continue;
        for (size_t kind = 0; kind < SECCOMP_KINDS; kind++) {
            if (words[i].kinds & 1U << kind && !read_action(word + size, &call->actions[kind]))
                return false;
        }
        return true;
    }
    return false;
}

/* One line, "0 63 read allow allow", or with further words where other programs differ; whether it was understood. */
static bool read_line(char *line)
{
    char *words[8], *save = NULL;
    size_t count = 0;
    for (char *word = strtok_r(line, " \n", &save); word; word = strtok_r(NULL, " \n", &save)) {
        if (count == array_len(words))
            return false;
        words[count++] = word;
    }
    struct expectation call = {0};
    if (count < 5 || strlen(words[2]) >= sizeof(call.name) ||
        !read_action(words[3], &call.actions[SECCOMP_DEFAULT]) ||
        !read_action(words[4], &call.actions[SECCOMP_NESTED]))
        return false;
    for (size_t kind = SECCOMP_ROOT; kind < SECCOMP_KINDS; kind++)
        call.actions[kind] = call.actions[SECCOMP_DEFAULT];
    for (size_t i = 5; i < count; i++) {
        if (!read_other(words[i], &call))
            return false;
    }
    memcpy(call.name, words[2], strlen(words[2]));
    for (size_t arch = 0; arch < ARCHES; arch++) {
        if (strcmp(words[arch], "-") == 0)
            continue;
        char *end;
        unsigned long number = strtoul(words[arch], &end, 10);
        if (*end || end == words[arch] || number >= NUMBERS || *expected[arch][number].name)
            return false;
        expected[arch][number] = call;
    }
    return true;
}

/* Read once, by whichever test is first. */
static bool expect_is_read(void)
{
    static bool done;
    FILE *file = done ? NULL : fopen(SECCOMP_EXPECT, "re");
    if (!file)
        return done;
    char line[256];
    done = true;
    for (unsigned number = 1; fgets(line, sizeof(line), file); number++) {
        if (*line != '#' && !read_line(line)) {
            printf("# %s:%u is not understood, or says something twice\n", SECCOMP_EXPECT, number);
            done = false;
        }
    }
    fclose(file);
    return done;
}

static uint32_t number_of(size_t arch, const char *name)
{
    for (uint32_t number = 0; expect_is_read() && number < NUMBERS; number++) {
        if (strcmp(expected[arch][number].name, name) == 0)
            return number;
    }
    return UINT32_MAX; /* whose verdict no test expects to be allowed */
}

/* --- asking ------------------------------------------------------------------------------------------------------------ */

static struct emulated ask(size_t arch, size_t kind, uint32_t number, uint64_t filler)
{
    struct seccomp_data call = {.nr = (int)number, .arch = arches[arch].audit, .instruction_pointer = filler};
    for (size_t i = 0; i < array_len(call.args); i++)
        call.args[i] = filler;
    return emulate(&arches[arch].programs[kind], &call);
}

static bool check_action(size_t arch, size_t kind, const char *what, uint64_t which, uint32_t got,
                         uint32_t want)
{
    if (got == want)
        return true;
    unit_failed(__FILE__, __LINE__);
    printf("%s, program %zu: %s %#" PRIx64 " is %#" PRIx32 ", not %#" PRIx32 "\n", arches[arch].name, kind,
           what, which, got, want);
    return false;
}

/* The call's verdict with these three arguments, which must be the same whatever the others are. */
static void check_call(size_t kind, const char *name, const uint64_t *args, size_t count, uint32_t want)
{
    for (size_t arch = 0; arch < ARCHES; arch++) {
        for (unsigned filler = 0; filler < 2; filler++) {
            struct seccomp_data call = {.nr = (int)number_of(arch, name), .arch = arches[arch].audit};
            for (size_t i = 0; i < array_len(call.args); i++)
                call.args[i] = i < count ? args[i] : filler ? UINT64_MAX : 0;
            uint32_t got = emulate(&arches[arch].programs[kind], &call).action;
            check_action(arch, kind, name, args[0], got, want);
        }
    }
}
#define CHECK_CALL(kind, name, want, ...)                                                                    \
    check_call(kind, name, (const uint64_t[]){__VA_ARGS__}, array_len(((const uint64_t[]){__VA_ARGS__})),    \
               want)

/* In all programs with namespaces. */
#define CHECK_BOTH(name, want, ...)                                                                          \
    do {                                                                                                     \
        CHECK_CALL(SECCOMP_DEFAULT, name, want, __VA_ARGS__);                                                \
        CHECK_CALL(SECCOMP_NESTED, name, want, __VA_ARGS__);                                                 \
        CHECK_CALL(SECCOMP_ROOT, name, want, __VA_ARGS__);                                                   \
    } while (0)

/* In all programs without namespaces. */
#define CHECK_BARE(name, want, ...)                                                                          \
    do {                                                                                                     \
        CHECK_CALL(SECCOMP_BARE, name, want, __VA_ARGS__);                                                   \
        CHECK_CALL(SECCOMP_BARE_FROZEN, name, want, __VA_ARGS__);                                            \
        CHECK_CALL(SECCOMP_BARE_OLD, name, want, __VA_ARGS__);                                               \
        CHECK_CALL(SECCOMP_BARE_TOLD, name, want, __VA_ARGS__);                                              \
        CHECK_CALL(SECCOMP_BARE_FROZEN_TOLD, name, want, __VA_ARGS__);                                       \
        CHECK_CALL(SECCOMP_BARE_OLD_TOLD, name, want, __VA_ARGS__);                                          \
    } while (0)

static const uint64_t beyond_32_bits = UINT64_C(1) << 32, high_half = UINT64_C(0xffffffff00000000);

/* --- all numbers ------------------------------------------------------------------------------------------------------- */

TEST(the_programs_are_ones_that_the_kernel_takes)
{
    for (size_t arch = 0; arch < ARCHES; arch++) {
        for (size_t kind = 0; kind < SECCOMP_KINDS; kind++)
            CHECK_STR(emulate_verify(&arches[arch].programs[kind]), NULL);
    }
}

/* The kernel checks a program the same way whatever it is for: the other architecture's kills at the next call. */
TEST(this_machine_s_kernel_takes_them_too)
{
    for (size_t arch = 0; arch < ARCHES; arch++) {
        for (size_t kind = 0; kind < SECCOMP_KINDS; kind++) {
            fflush(stdout);
            pid_t child = fork();
            if (child == 0) {
                const struct seccomp_program *at = &arches[arch].programs[kind];
                struct sock_fprog program = {.len = at->count, .filter = (struct sock_filter *)at->code};
                bool loaded = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                              syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
                _exit(loaded ? 0 : 1);
            }
            int status = -1;
            REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
            bool is_native = arches[arch].audit == NATIVE;
            CHECK_INT(WIFSIGNALED(status) ? WTERMSIG(status) : 0, is_native ? 0 : SIGSYS);
            CHECK_INT(WEXITSTATUS(status), 0);
        }
    }
}

TEST(every_number_gets_the_expected_answer)
{
    REQUIRE(expect_is_read());
    for (size_t arch = 0; arch < ARCHES; arch++) {
        for (size_t kind = 0; kind < SECCOMP_KINDS; kind++) {
            for (uint32_t number = 0; number < NUMBERS; number++) {
                const struct expectation *call = &expected[arch][number];
                int64_t want = *call->name ? call->actions[kind] : (ERRNO | ENOSYS);
                struct emulated got = ask(arch, kind, number, 0), other = ask(arch, kind, number, UINT64_MAX);
                if (!CHECK_INT(got.saw_arguments, want == BY_ARGUMENTS))
                    printf("# that is %s, number %" PRIu32 " of %s\n", call->name, number, arches[arch].name);
                if (want == BY_ARGUMENTS)
                    continue;
                check_action(arch, kind, call->name, number, got.action, (uint32_t)want);
                check_action(arch, kind, call->name, number, other.action, (uint32_t)want);
            }
        }
    }
}

TEST(the_expectations_have_every_number_that_is_taken)
{
    REQUIRE(expect_is_read());
    for (uint32_t number = 0; number < NUMBERS; number++) {
        bool x86_64 = number <= 336 || (number >= 424 && number <= 471);
        bool aarch64 =
            (number <= 294 && !(number >= 244 && number <= 259)) || (number >= 424 && number <= 471);
        if (!CHECK_INT(*expected[X86_64][number].name != 0, x86_64) ||
            !CHECK_INT(*expected[AARCH64][number].name != 0, aarch64))
            printf("# number %" PRIu32 "\n", number);
    }
}

TEST(numbers_beyond_all_tables_do_not_exist)
{
    static const uint32_t numbers[] = {1023,       1024,       1025,       65535,
                                       0x3fffffff, 0x7fffffff, 0x80000000, 0xffffffff};
    for (size_t arch = 0; arch < ARCHES; arch++) {
        for (size_t kind = 0; kind < SECCOMP_KINDS; kind++) {
            for (size_t i = 0; i < array_len(numbers); i++) {
                uint32_t got = ask(arch, kind, numbers[i], 0).action;
                check_action(arch, kind, "number", numbers[i], got, ERRNO | ENOSYS);
            }
        }
    }
}

TEST(calls_of_x32_do_not_exist)
{
    for (size_t kind = 0; kind < SECCOMP_KINDS; kind++) {
        for (uint32_t number = 0; number < NUMBERS; number++) {
            uint32_t got = ask(X86_64, kind, 0x40000000 | number, 0).action;
            check_action(X86_64, kind, "x32 number", number, got, ERRNO | ENOSYS);
        }
    }
}

TEST(another_architecture_is_killed)
{
    /* i386, arm, arm big-endian, aarch64 big-endian, x86_64 without its flags, none, and each other's. */
    static const uint32_t others[] = {0x40000003, 0x40000028, 0x00000028, 0x800000b7, 0x0000003e,
                                      0x8000003e, 0,          0xffffffff, 0xc000003e, 0xc00000b7};
    for (size_t arch = 0; arch < ARCHES; arch++) {
        for (size_t i = 0; i < array_len(others); i++) {
            if (others[i] == arches[arch].audit)
                continue;
            for (uint32_t number = 0; number < NUMBERS; number++) {
                struct seccomp_data call = {.nr = (int)number, .arch = others[i]};
                for (size_t kind = 0; kind < SECCOMP_KINDS; kind++) {
                    uint32_t got = emulate(&arches[arch].programs[kind], &call).action;
                    check_action(arch, kind, "architecture", others[i], got, KILL_PROCESS);
                }
            }
        }
    }
}

/* Size and depth are what loading costs; a change that doubles them should be noticed. */
TEST(the_programs_are_small_and_shallow)
{
    for (size_t arch = 0; arch < ARCHES; arch++) {
        for (size_t kind = 0; kind < SECCOMP_KINDS; kind++) {
            unsigned most = 0, sum = 0;
            for (uint32_t number = 0; number < 472; number++) {
                unsigned steps = ask(arch, kind, number, 0).steps;
                most = steps > most ? steps : most;
                sum += steps;
            }
            CHECK(arches[arch].programs[kind].count <= (kind == SECCOMP_NESTED ? 150 : kind < SECCOMP_BARE ? 200 : 320));
            CHECK(most <= (kind < SECCOMP_BARE ? 24 : 37));
            CHECK(sum / 472 <= 12);
        }
    }
}

/* --- calls whose arguments decide -------------------------------------------------------------------------------------- */

TEST(nothing_can_be_typed_into_a_terminal)
{
    static const uint64_t forbidden[] = {0x5412, 0x541c, 0x5423}; /* TIOCSTI, TIOCLINUX, TIOCSETD */
    for (size_t i = 0; i < array_len(forbidden); i++) {
        CHECK_BOTH("ioctl", ERRNO | EPERM, 0, forbidden[i]);
        CHECK_BOTH("ioctl", ERRNO | EPERM, UINT64_MAX, forbidden[i] | high_half);
        for (unsigned bit = 32; bit < 64; bit++)
            CHECK_BOTH("ioctl", ERRNO | EPERM, 0, forbidden[i] | UINT64_C(1) << bit);
        for (unsigned bit = 0; bit < 32; bit++)
            CHECK_BOTH("ioctl", ALLOW, 0, forbidden[i] ^ UINT64_C(1) << bit);
    }
}

TEST(without_namespaces_nothing_can_be_typed_into_a_terminal_and_no_flag_of_a_file_be_set)
{
    static const uint64_t typing[] = {0x5412, 0x541c, 0x5423};
    /* FS_IOC_SETFLAGS, its 32-bit form, FSSETXATTR, SETVERSION, ENABLE_VERITY, SET_ENCRYPTION_POLICY, FAT_IOCTL_SET_ATTRIBUTES */
    static const uint64_t flags[] = {0x40086602, 0x40046602, 0x401c5820, 0x40087602,
                                     0x40806685, 0x800c6613, 0x40047211};
    /* FS_IOC_GETFLAGS, FSGETXATTR, FIEMAP, FICLONE, TCGETS, FIONREAD, FAT_IOCTL_GET_ATTRIBUTES */
    static const uint64_t harmless[] = {0x80086601, 0x801c581f, 0xc020660b, 0x40049409,
                                        0x5401,     0x541b,     0x80047210};
    for (size_t i = 0; i < array_len(typing); i++)
        CHECK_BARE("ioctl", ERRNO | EPERM, 0, typing[i] | high_half);
    for (size_t i = 0; i < array_len(flags); i++)
        CHECK_BARE("ioctl", ERRNO | ENOTTY, 0, flags[i] | high_half);
    for (size_t i = 0; i < array_len(harmless); i++)
        CHECK_BARE("ioctl", ALLOW, 0, harmless[i]);
}

TEST(without_namespaces_other_processes_are_judged)
{
    static const char *const calls[] = {"sched_setaffinity", "sched_setattr", "sched_setparam",
                                        "sched_setscheduler"};
    for (size_t i = 0; i < array_len(calls); i++) {
        CHECK_BARE(calls[i], ALLOW, high_half);
        CHECK_BARE(calls[i], JUDGE, 1);
        CHECK_BARE(calls[i], JUDGE, 0xffffffff);
    }
    CHECK_BARE("prlimit64", JUDGE, 1, 7, 1);
    CHECK_BARE("prlimit64", ALLOW, high_half, 7, 1);
    CHECK_BARE("setpriority", ALLOW, 0, high_half);
    CHECK_BARE("setpriority", JUDGE, high_half, 1);
    CHECK_BARE("setpriority", ERRNO | EPERM, 1, 0); /* a group, a user */
    CHECK_BARE("setpriority", ERRNO | EPERM, 2, 0);
    CHECK_BARE("ioprio_set", ALLOW, 1, 0);
    CHECK_BARE("ioprio_set", JUDGE, 1, 1);
    CHECK_BARE("ioprio_set", ERRNO | EPERM, 2, 0);
    CHECK_BARE("ioprio_set", ERRNO | EPERM, 3, 0);
}

TEST(without_namespaces_sockets_are_judged_and_few)
{
    for (uint64_t type = 0; type < 16; type++) {
        bool is_stream = type == 1 || type == 5;
        CHECK_BARE("socket", is_stream ? JUDGE : ERRNO | EPROTONOSUPPORT, 1, type | 02000000);
        CHECK_BARE("socketpair", is_stream ? ALLOW : ERRNO | EPROTONOSUPPORT, 1, type | 02000000);
    }
    static const uint64_t families[] = {2, 10};
    for (size_t i = 0; i < array_len(families); i++) {
        uint64_t family = families[i] | high_half;
        CHECK_BARE("socket", JUDGE, family, 1 | 02000000, 0);
        CHECK_BARE("socket", JUDGE, family, 1, 6);
        CHECK_BARE("socket", JUDGE, family, 1, 262); /* several paths, which become one */
        CHECK_BARE("socket", ERRNO | EPROTONOSUPPORT, family, 1, 132);
        CHECK_BARE("socket", JUDGE, family, 2, 17);
        CHECK_BARE("socket", ERRNO | EACCES, family, 2, 1); /* ping */
        CHECK_BARE("socket", ERRNO | EPERM, family, 3, 255);
        CHECK_BARE("socket", ERRNO | EPROTONOSUPPORT, family, 10, 0);
        CHECK_BARE("socketpair", ERRNO | EAFNOSUPPORT, family, 1, 0);
    }
    CHECK_BARE("socket", ALLOW, 16, 3, 0);
    CHECK_BARE("socket", ERRNO | EPROTONOSUPPORT, 16, 3, 12); /* netfilter */
    CHECK_BARE("socket", ERRNO | EAFNOSUPPORT, 17, 3);        /* packets */
    CHECK_BARE("socket", ERRNO | EAFNOSUPPORT, 40, 1);        /* the hypervisor */
}

TEST(without_namespaces_no_send_connects_and_addresses_are_noted)
{
    enum { FAST_OPEN = 0x20000000 };
    CHECK_BARE("sendto", ERRNO | EOPNOTSUPP, 3, 1, 1, FAST_OPEN | high_half, 1, 16);
    CHECK_BARE("sendmsg", ERRNO | EOPNOTSUPP, 3, 1, FAST_OPEN);
    CHECK_BARE("sendmmsg", ERRNO | EOPNOTSUPP, 3, 1, 1, FAST_OPEN);
    CHECK_BARE("sendmsg", ALLOW, 3, 1, 0x4000);
    static const char *const calls[] = {"sendto", "recvfrom"};
    for (size_t i = 0; i < array_len(calls); i++) {
        CHECK_BARE(calls[i], ALLOW, 3, 1, 1, 0, 0, 0);
        CHECK_BARE(calls[i], JUDGE, 3, 1, 1, 0, 1, 16);
        CHECK_BARE(calls[i], JUDGE, 3, 1, 1, 0, beyond_32_bits, 16);
    }
    CHECK_BARE("setsockopt", ERRNO | EOPNOTSUPP, 3, 6, 30); /* TCP_FASTOPEN_CONNECT */
    CHECK_BARE("setsockopt", ERRNO, 3, 0, 11);              /* IP_RECVERR: done */
    CHECK_BARE("setsockopt", JUDGE, 3, 0, 1);               /* IP_TOS */
    CHECK_BARE("setsockopt", JUDGE, 3, 1, 15);              /* SO_REUSEPORT */
    CHECK_BARE("setsockopt", ALLOW, 3, 41, 26);             /* IPV6_V6ONLY */
    CHECK_BARE("setsockopt", ALLOW, 3, 6, 1);
    CHECK_BARE("setsockopt", ALLOW, 3, 1, 30);
}

TEST(without_namespaces_no_file_is_made_set_uid_or_set_gid)
{
    CHECK_BARE("mknodat", ERRNO | EPERM, 0, 0, 04755);
    CHECK_BARE("openat", ERRNO | EPERM, 0, 0, 0100, 02755 | high_half);
    CHECK_BARE("openat", ALLOW, 0, 0, 0100, 0755);
    CHECK_BARE("openat", ALLOW, 0, 0, 0, 04755); /* it makes none */
}

/* An access mode of both bits is neither to read nor to write: Landlock wants no right for it, and before version 3 O_TRUNC empties the file. */
TEST(without_namespaces_no_file_is_opened_for_neither_reading_nor_writing)
{
    CHECK_BARE("openat", ERRNO | EACCES, 0, 0, 03, 0);
    CHECK_BARE("openat", ERRNO | EACCES, 0, 0, 03 | 01000, 0);
    CHECK_BARE("openat", ERRNO | EACCES, 0, 0, high_half | 03 | 01000, 0);
    CHECK_BARE("openat", ERRNO | EACCES, 0, 0, 03 | 0400 | 02000000, 0);
    CHECK_BARE("openat", ERRNO | EACCES, 0, 0, 03 | 0100, 0600);
    CHECK_BARE("openat", ALLOW, 0, 0, 02, 0);
    CHECK_CALL(SECCOMP_DEFAULT, "openat", ALLOW, 0, 0, 03, 0);
    for (size_t kind = SECCOMP_BARE; kind < SECCOMP_KINDS; kind++) { /* x86_64 has an older call, too */
        struct seccomp_data call = {
            .nr = (int)number_of(0, "open"), .arch = arches[0].audit, .args = {0, 03 | 01000}};
        CHECK_INT(emulate(&arches[0].programs[kind], &call).action, ERRNO | EACCES);
    }
}

/* O_NOFOLLOW and O_DIRECTORY are other numbers on each architecture: see below. */
TEST(without_namespaces_opens_that_may_be_of_terminals_and_shared_memory_are_judged)
{
    CHECK_BARE("openat", JUDGE, 0, 0, 02 | 0400, 0);               /* O_RDWR | O_NOCTTY */
    CHECK_BARE("openat", JUDGE, 0, 0, 02 | 0400 | 02000000, 0);    /* O_CLOEXEC */
    CHECK_BARE("openat", JUDGE, 0, 0, high_half | 02 | 0400, 0);
    CHECK_BARE("openat", ALLOW, 0, 0, 0400, 0);
    CHECK_BARE("openat", ALLOW, 0, 0, 010000000 | 02 | 0400, 0);   /* O_PATH */
    CHECK_BARE("openat", JUDGE, 0, 0, 02 | 0100 | 0200, 0600);     /* mkstemp, sem_open */
    CHECK_BARE("openat", ALLOW, 0, 0, 02 | 0100 | 0200, 0444);     /* an object of git's */
    CHECK_BARE("openat", ALLOW, 0, 0, 01 | 0100 | 0200, 0600);
    CHECK_BARE("openat", ALLOW, 0, 0, 02 | 0100 | 0200 | 02000000, 0666);
    CHECK_BARE("openat", ERRNO | EPERM, 0, 0, 02 | 0100 | 0200, 04600);
    CHECK_BARE("ioctl", JUDGE, 0, 0x5441); /* TIOCGPTPEER */
    CHECK_BARE("ioctl", JUDGE, 0, 0x5410); /* TIOCSPGRP */
    CHECK_BARE("setpgid", ALLOW, 0, 0);
    CHECK_BARE("setpgid", JUDGE, 0, 1);
    static const unsigned no_follow[ARCHES] = {0400000, 0100000}, directory[ARCHES] = {0200000, 040000};
    for (size_t arch = 0; arch < ARCHES; arch++) {
        struct seccomp_data call = {.nr = (int)number_of(arch, "openat"), .arch = arches[arch].audit};
        for (size_t kind = SECCOMP_BARE; kind < SECCOMP_BARE_LEARN; kind++) {
            for (unsigned way = 0; way < 3; way++) {
                unsigned flags = way | (way == 2 ? 0302 : 0) | 02000000;
                call.args[2] = flags | no_follow[arch];
                CHECK_INT(emulate(&arches[arch].programs[kind], &call).action, JUDGE);
                call.args[2] = flags | no_follow[!arch];
                CHECK_INT(emulate(&arches[arch].programs[kind], &call).action, ALLOW);
                call.args[2] = flags | no_follow[arch] | directory[arch];
                CHECK_INT(emulate(&arches[arch].programs[kind], &call).action, ALLOW);
            }
        }
    }
}

TEST(without_namespaces_and_frozen_paths_names_are_judged_that_may_be_of_shared_memory)
{
    CHECK_CALL(SECCOMP_BARE, "unlinkat", JUDGE, 0xffffff9c, 0, 0);
    CHECK_CALL(SECCOMP_BARE, "unlinkat", ALLOW, 3, 0, 0);
    CHECK_CALL(SECCOMP_BARE_FROZEN, "unlinkat", JUDGE, 3, 0, 0);
}

TEST(for_bawn_learn_every_open_is_passed_on_but_for_those_that_are_refused)
{
    for (size_t kind = SECCOMP_BARE_LEARN; kind <= SECCOMP_BARE_OLD_LEARN; kind++) {
        CHECK_CALL(kind, "openat", JUDGE, 0, 0, 0, 0);
        CHECK_CALL(kind, "openat", JUDGE, 0, 0, 01 | 0100, 0644);
        CHECK_CALL(kind, "openat", JUDGE, 0, 0, 02 | 0100 | 0200, 0444);
        CHECK_CALL(kind, "openat", ERRNO | EPERM, 0, 0, 01 | 0100, 04755);
    }
    CHECK_CALL(SECCOMP_BARE_OLD_LEARN, "openat", ERRNO | EACCES, 0, 0, 01000, 0); /* O_RDONLY | O_TRUNC */
    CHECK_BARE("openat", ALLOW, 0, 0, 0, 0); /* the control */
}

TEST(what_older_versions_of_landlock_lack_is_judged_or_refused)
{
    CHECK_CALL(SECCOMP_BARE_OLD, "fcntl", ERRNO | EPERM, 0, 8);  /* F_SETOWN */
    CHECK_CALL(SECCOMP_BARE_OLD, "fcntl", ERRNO | EPERM, 0, 15); /* F_SETOWN_EX */
    CHECK_CALL(SECCOMP_BARE_OLD, "fcntl", ALLOW, 0, 2);
    CHECK_CALL(SECCOMP_BARE_OLD, "openat", ERRNO | EACCES, 0, 0, 01000, 0); /* O_RDONLY | O_TRUNC */
    CHECK_CALL(SECCOMP_BARE_OLD, "openat", ALLOW, 0, 0, 01 | 01000, 0);
    CHECK_CALL(SECCOMP_BARE, "openat", ALLOW, 0, 0, 01000, 0);
    CHECK_BARE("ioctl", ERRNO | EPERM, 0, 0x8901); /* FIOSETOWN, SIOCSPGRP */
    CHECK_BARE("ioctl", ERRNO | EPERM, 0, 0x8902);
}

TEST(root_makes_no_file_set_uid_or_set_gid)
{
    static const struct {
        const char *name;
        unsigned mode; /* which argument */
    } calls[] = {{"fchmod", 1}, {"fchmodat", 2}, {"fchmodat2", 2}, {"mknodat", 2}};
    for (size_t i = 0; i < array_len(calls); i++) {
        for (unsigned bit = 0; bit < 64; bit++) {
            uint64_t args[6] = {04000, 04000, 04000, 04000, 04000, 04000};
            args[calls[i].mode] = UINT64_C(1) << bit;
            check_call(SECCOMP_ROOT, calls[i].name, args, 6, bit == 11 || bit == 10 ? ERRNO | EPERM : ALLOW);
            check_call(SECCOMP_DEFAULT, calls[i].name, args, 6, ALLOW);
        }
    }
    static const uint64_t makes[] = {0100, 020200000, 020040000, 0102,
                                     020200002}; /* O_CREAT; O_TMPFILE, both ways */
    for (size_t i = 0; i < array_len(makes); i++) {
        CHECK_CALL(SECCOMP_ROOT, "openat", ERRNO | EPERM, 0, 0, makes[i], 04755);
        CHECK_CALL(SECCOMP_ROOT, "openat", ERRNO | EPERM, 0, 0, makes[i] | high_half, 04000 | high_half);
        CHECK_CALL(SECCOMP_ROOT, "openat", ERRNO | EPERM, 0, 0, makes[i], 02755);
        CHECK_CALL(SECCOMP_ROOT, "openat", ALLOW, 0, 0, makes[i], 01755);
        CHECK_CALL(SECCOMP_DEFAULT, "openat", ALLOW, 0, 0, makes[i], 04755);
    }
    CHECK_CALL(SECCOMP_ROOT, "openat", ALLOW, 0, 0, 0,
               04755); /* makes nothing: the mode is what lay in the register */
    CHECK_CALL(SECCOMP_ROOT, "openat", ALLOW, 0, 0, 0200000, 04755);
}

/* Arguments from `first` on are ids. Every one must be the caller's, or -1. */
static void check_ids(const char *name, unsigned first, const uint32_t *own, size_t count)
{
    static const uint32_t others[] = {0, 1, 1000, 65534, 0x7fffffff};
    for (size_t strange = 0; strange < count; strange++) {
        uint64_t args[6] = {0};
        for (size_t i = 0; i < count; i++)
            args[first + i] = own[i];
        check_call(SECCOMP_DEFAULT, name, args, 6, ALLOW);
        args[first + strange] = UINT32_MAX | high_half;
        check_call(SECCOMP_DEFAULT, name, args, 6, ALLOW);
        for (size_t i = 0; i < array_len(others); i++) {
            args[first + strange] = others[i] | high_half;
            check_call(SECCOMP_DEFAULT, name, args, 6, ERRNO | EPERM);
            check_call(SECCOMP_ROOT, name, args, 6, ALLOW);
            check_call(SECCOMP_NESTED, name, args, 6, ALLOW);
        }
    }
}

TEST(a_user_s_files_and_processes_get_no_other_id)
{
    static const uint32_t uid = SECCOMP_OWN_UID, gid = SECCOMP_OWN_GID;
    check_ids("fchown", 1, (uint32_t[]){uid, gid}, 2);
    check_ids("fchownat", 2, (uint32_t[]){uid, gid}, 2);
    check_ids("setuid", 0, (uint32_t[]){uid}, 1);
    check_ids("setgid", 0, (uint32_t[]){gid}, 1);
    check_ids("setreuid", 0, (uint32_t[]){uid, uid}, 2);
    check_ids("setregid", 0, (uint32_t[]){gid, gid}, 2);
    check_ids("setresuid", 0, (uint32_t[]){uid, uid, uid}, 3);
    check_ids("setresgid", 0, (uint32_t[]){gid, gid, gid}, 3);
}

/* ERRNO and nothing else is 0, the answer to a call that was made. */
TEST(no_call_seems_to_be_made_but_the_setting_of_a_limit)
{
    static const uint64_t fillers[] = {0, 1, 4, UINT64_C(4) << 32, UINT64_MAX};
    for (size_t arch = 0; arch < ARCHES; arch++) {
        for (size_t kind = 0; kind < SECCOMP_KINDS; kind++) {
            for (uint32_t number = 0; number < NUMBERS; number++) {
                bool may_seem =
                    number == number_of(arch, "setrlimit") || number == number_of(arch, "prlimit64");
                for (size_t i = 0; !may_seem && i < array_len(fillers); i++)
                    CHECK(ask(arch, kind, number, fillers[i]).action != ERRNO);
            }
        }
    }
}

TEST(size_of_a_core_stays_what_it_is)
{
    enum { CORE = 4 };
    for (unsigned bit = 0; bit < 64; bit++) {
        CHECK_BOTH("prlimit64", ERRNO, 0, CORE, UINT64_C(1) << bit, 0);
        CHECK_BOTH("prlimit64", bit < 32 ? ERRNO | EPERM : ERRNO, 0, CORE, 0x1000, UINT64_C(1) << bit);
        CHECK_BOTH("prlimit64", ALLOW, 0, CORE, 0, UINT64_C(1) << bit);
    }
    CHECK_BOTH("prlimit64", ERRNO, 7, CORE | high_half, 0x1000, 0);
    CHECK_BOTH("setrlimit", ERRNO, CORE, 0x1000);
    CHECK_BOTH("setrlimit", ERRNO, CORE | high_half, 0x1000);
    CHECK_BOTH("setrlimit", ALLOW, 7, 0x1000);
    CHECK_BOTH("getrlimit", ALLOW, CORE, 0x1000);
}

TEST(limits_of_process_1_are_only_looked_at)
{
    for (unsigned bit = 0; bit < 64; bit++)
        CHECK_BOTH("prlimit64", ERRNO | EPERM, 1, 7, UINT64_C(1) << bit);
    CHECK_BOTH("prlimit64", ERRNO | EPERM, 1 | high_half, 7, 0x1000);
    CHECK_BOTH("prlimit64", ALLOW, 1, 7, 0, 0x1000);
    CHECK_BOTH("prlimit64", ALLOW, 0, 7, 0x1000); /* the caller's own */
    CHECK_BOTH("prlimit64", ALLOW, 2, 7, 0x1000);
}

TEST(place_of_process_1_in_the_scheduler_is_only_looked_at)
{
    static const char *const calls[] = {"sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler"};
    for (size_t i = 0; i < array_len(calls); i++) {
        CHECK_BOTH(calls[i], ERRNO | EPERM, 1, 0x1000, 0x1000);
        CHECK_BOTH(calls[i], ERRNO | EPERM, 1 | high_half, 0x1000, 0x1000);
        for (unsigned bit = 1; bit < 64; bit++)
            CHECK_BOTH(calls[i], bit < 32 ? ALLOW : ERRNO | EPERM, 1 | UINT64_C(1) << bit, 0x1000, 0x1000);
        CHECK_BOTH(calls[i], ALLOW, 0, 1, 1); /* the caller's own */
    }
    /* PRIO_PROCESS, PRIO_PGRP, PRIO_USER; IOPRIO_WHO_PROCESS, …_PGRP, …_USER */
    static const uint64_t first[] = {0, 1};
    static const char *const named[] = {"setpriority", "ioprio_set"};
    for (size_t i = 0; i < array_len(named); i++) {
        CHECK_BOTH(named[i], ERRNO | EPERM, first[i], 1, 1);
        CHECK_BOTH(named[i], ERRNO | EPERM, first[i] | high_half, 1 | high_half, 1);
        CHECK_BOTH(named[i], ALLOW, first[i], 0, 1);
        CHECK_BOTH(named[i], ALLOW, first[i], 2, 1);
        for (uint64_t whose = first[i] + 1; whose <= first[i] + 2; whose++) {
            CHECK_BOTH(named[i], ERRNO | EPERM, whose, 0, 1);
            CHECK_BOTH(named[i], ERRNO | EPERM, whose | high_half, 7, 1);
        }
    }
    CHECK_BOTH("getpriority", ALLOW, 1, 1);
}

TEST(no_snapshot_is_made_of_what_holds_hidden_files)
{
    static const uint64_t sharing[] = {0x40049409, 0x4020940d,
                                       0xc0189436}; /* FICLONE, FICLONERANGE, FIDEDUPERANGE */
    static const uint64_t refused[] = {
        0x50009401, 0x50009417, 0x5000940e, 0x50009418, /* snapshots and subvolumes of btrfs */
        0xd0009412, 0x9400,     0x94ff,     0x4020bc10};
    for (size_t i = 0; i < array_len(sharing); i++) {
        CHECK_BOTH("ioctl", ALLOW, 0, sharing[i]);
        CHECK_BOTH("ioctl", ALLOW, 0, sharing[i] | high_half);
    }
    for (size_t i = 0; i < array_len(refused); i++) {
        CHECK_BOTH("ioctl", ERRNO | ENOTTY, 0, refused[i]);
        CHECK_BOTH("ioctl", ERRNO | ENOTTY, UINT64_MAX, refused[i] | high_half);
    }
}

TEST(no_file_gets_the_blocks_of_another_behind_its_times)
{
    static const uint64_t refused[] = {
        0xc028660f, /* EXT4_IOC_MOVE_EXT */
        0xc0c0586d, /* XFS_IOC_SWAPEXT */
        0xc020f509, /* F2FS_IOC_MOVE_RANGE */
        0x4018f514, /* F2FS_IOC_SEC_TRIM_FILE */
        0xf501,     /* F2FS_IOC_START_ATOMIC_WRITE */
        0xf519,     /* F2FS_IOC_START_ATOMIC_REPLACE */
    };
    for (size_t i = 0; i < array_len(refused); i++) {
        CHECK_BOTH("ioctl", ERRNO | ENOTTY, 0, refused[i]);
        CHECK_BOTH("ioctl", ERRNO | ENOTTY, UINT64_MAX, refused[i] | high_half);
    }
    CHECK_BOTH("ioctl", ALLOW, 0, 0x801c581f); /* FS_IOC_FSGETXATTR, of the same type */
    CHECK_BOTH("ioctl", ALLOW, 0, 0x40285881); /* XFS_IOC_EXCHANGE_RANGE, which sets the times of both */
    CHECK_BOTH("ioctl", ALLOW, 0, 0x80086601); /* FS_IOC_GETFLAGS, of the type that ext4's requests have */
    CHECK_BOTH("ioctl", ALLOW, 0, 0x40086602); /* FS_IOC_SETFLAGS */
}

TEST(no_key_of_an_encrypted_directory_is_taken_away)
{
    CHECK_BOTH("ioctl", ERRNO | ENOTTY, 0, 0xc0406618); /* FS_IOC_REMOVE_ENCRYPTION_KEY */
    CHECK_BOTH("ioctl", ERRNO | ENOTTY, UINT64_MAX, 0xc0406618 | high_half);
    CHECK_BOTH("ioctl", ALLOW, 0, 0xc080661a); /* FS_IOC_GET_ENCRYPTION_KEY_STATUS */
}

TEST(every_other_request_to_a_device_is_allowed)
{
    for (uint64_t request = 0; request < 0x10000; request++) {
        uint64_t type = request >> 8;
        if (request != 0x5412 && request != 0x541c && request != 0x5423 && type != 0x94 && type != 0xbc &&
            type != 0xf5)
            CHECK_BOTH("ioctl", ALLOW, 0, request);
    }
    CHECK_BOTH("ioctl", ALLOW, 0x5412, 0x5413); /* the descriptor is not the request */
    CHECK_BOTH("ioctl", ALLOW, 0, 0x5413, 0x5412);
}

static void check_socket(uint64_t family, uint64_t type, uint64_t protocol, uint32_t want)
{
    CHECK_BOTH("socket", want, family, type, protocol);
    CHECK_BOTH("socketpair", want, family, type, protocol);
}

TEST(sockets_are_of_known_families)
{
    for (uint64_t family = 0; family < 300; family++) {
        bool is_local = family == 1, is_inet = family == 2 || family == 10, is_netlink = family == 16;
        uint32_t want = is_local || is_inet || is_netlink ? ALLOW : (ERRNO | EAFNOSUPPORT);
        for (uint64_t type = 1; type <= 3; type++)
            check_socket(family, type, 0, want);
        check_socket(family | beyond_32_bits, 1, 0, want);
        check_socket(family | high_half, 1, 0, want);
    }
    check_socket(UINT64_MAX, 1, 0, ERRNO | EAFNOSUPPORT);
    check_socket(0x80000001, 1, 0, ERRNO | EAFNOSUPPORT);
    check_socket(1, 5, 0, ALLOW); /* AF_UNIX has sequenced packets */
    check_socket(1, UINT64_MAX, UINT64_MAX, ALLOW);
}

TEST(netlink_is_for_routes_only)
{
    for (uint64_t protocol = 1; protocol < 64; protocol++) {
        check_socket(16, 3, protocol, ERRNO | EPROTONOSUPPORT);
        check_socket(16, 3, protocol | beyond_32_bits, ERRNO | EPROTONOSUPPORT);
    }
    check_socket(16, 3, 0, ALLOW);
    check_socket(16, 0x80003, 0, ALLOW);
    check_socket(16, 2, beyond_32_bits, ALLOW); /* still protocol 0 to the kernel */
}

TEST(internet_sockets_have_usual_types_and_protocols)
{
    static const uint64_t protocols[] = {0, 1, 6, 17, 58, 255, 262};
    static const uint64_t families[] = {2, 10};
    for (size_t f = 0; f < array_len(families); f++) {
        for (uint64_t protocol = 0; protocol < 300; protocol++) {
            bool usual = false;
            for (size_t i = 0; i < array_len(protocols); i++)
                usual |= protocols[i] == protocol;
            uint32_t want = usual ? ALLOW : (ERRNO | EPROTONOSUPPORT);
            check_socket(families[f], 1, protocol, want);
            check_socket(families[f], 1 | 0x80800, protocol, want); /* SOCK_CLOEXEC | SOCK_NONBLOCK */
            check_socket(families[f], 3 | high_half, protocol | high_half, want);
        }
        for (uint64_t type = 4; type < 16;
             type++) { /* SOCK_SEQPACKET is SCTP, 6 is DCCP, 10 is SOCK_PACKET */
            check_socket(families[f], type, 0, ERRNO | EPROTONOSUPPORT);
            check_socket(families[f], type | 0x80800, 6, ERRNO | EPROTONOSUPPORT);
        }
    }
}

TEST(a_process_is_made_in_no_new_namespace)
{
    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t flag = UINT64_C(1) << bit;
        bool is_namespace = bit == 17 || (bit >= 25 && bit <= 30);
        uint32_t want = is_namespace ? (ERRNO | EPERM) : ALLOW;
        CHECK_CALL(SECCOMP_DEFAULT, "clone", want, flag);
        CHECK_CALL(SECCOMP_DEFAULT, "clone", want, flag | 17); /* SIGCHLD */
        CHECK_CALL(SECCOMP_DEFAULT, "clone", want, flag | 0x3d0f00);
        CHECK_CALL(SECCOMP_NESTED, "clone", ALLOW, flag | 17);
    }
    CHECK_CALL(SECCOMP_DEFAULT, "clone", ALLOW, 0x01200011); /* fork */
    CHECK_CALL(SECCOMP_DEFAULT, "clone", ALLOW, 0x003d0f00); /* a thread */
    CHECK_CALL(SECCOMP_DEFAULT, "clone", ALLOW, 0x00004111); /* vfork */
    CHECK_CALL(SECCOMP_DEFAULT, "clone", ALLOW, high_half | 17);
    CHECK_CALL(SECCOMP_DEFAULT, "clone", ERRNO | EPERM, 0x7e020011);
    CHECK_CALL(SECCOMP_DEFAULT, "clone", ERRNO | EPERM, UINT64_MAX);
    CHECK_CALL(SECCOMP_NESTED, "clone", ALLOW, 0x7e020011);
}

TEST(without_namespaces_the_judge_is_told_of_processes_that_share_descriptors)
{
    CHECK_BARE("clone", COUNTED, 0x01200011);       /* fork */
    CHECK_BARE("clone", COUNTED, 0x003d0f00);       /* a thread */
    CHECK_BARE("clone", COUNTED, 0x00004111);       /* vfork */
    CHECK_BARE("clone", JUDGE, 0x00000411);         /* CLONE_FILES */
    CHECK_BARE("clone", JUDGE, 0x00800700);         /* as a leak sanitizer does */
    CHECK_BARE("clone", JUDGE, high_half | 0x0411); /* the kernel takes the lower half */
    CHECK_BARE("clone", ERRNO | EPERM, 0x10000411); /* CLONE_NEWUSER */
    CHECK_BARE("clone", ERRNO | EPERM, 0x10010400);
    CHECK_BARE("clone", ERRNO | EPERM, UINT64_MAX);
}

TEST(only_what_is_no_namespace_is_unshared)
{
    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t flag = UINT64_C(1) << bit;
        bool is_harmless = bit == 9 || bit == 10 || bit == 18; /* CLONE_FS, CLONE_FILES, CLONE_SYSVSEM */
        CHECK_CALL(SECCOMP_DEFAULT, "unshare", is_harmless ? ALLOW : (ERRNO | EPERM), flag);
        CHECK_CALL(SECCOMP_DEFAULT, "unshare", is_harmless ? ALLOW : (ERRNO | EPERM), flag | 0x400);
        CHECK_CALL(SECCOMP_NESTED, "unshare", ALLOW, flag);
    }
    CHECK_CALL(SECCOMP_DEFAULT, "unshare", ALLOW, 0);
    CHECK_CALL(SECCOMP_DEFAULT, "unshare", ALLOW, 0x40600);
}

TEST(personalities_leave_the_protection_of_memory_alone)
{
    for (unsigned bit = 0; bit < 32; bit++) {
        uint64_t flag = UINT64_C(1) << bit;
        bool is_harmless = bit == 3 || bit == 17 || bit == 18; /* PER_LINUX32, UNAME26, ADDR_NO_RANDOMIZE */
        CHECK_BOTH("personality", is_harmless ? ALLOW : (ERRNO | EPERM), flag);
        CHECK_BOTH("personality", is_harmless ? ALLOW : (ERRNO | EPERM), flag | 0x40000);
        CHECK_BOTH("personality", is_harmless ? ALLOW : (ERRNO | EPERM), flag | high_half);
    }
    CHECK_BOTH("personality", ALLOW, 0);
    CHECK_BOTH("personality", ALLOW, 0x60008);
    CHECK_BOTH("personality", ALLOW, 0xffffffff); /* asks */
    CHECK_BOTH("personality", ALLOW, UINT64_MAX);
    CHECK_BOTH("personality", ERRNO | EPERM, 0xfffffffe);
    CHECK_BOTH("personality", ERRNO | EPERM, 0x0400000); /* READ_IMPLIES_EXEC */
    CHECK_BOTH("personality", ERRNO | EPERM, 0x0100000); /* MMAP_PAGE_ZERO */
}

UNIT_MAIN()
