/*
 * Turns src/kernel/seccomp_calls.h into filter programs, at build time:
 *
 *     seccomp-compile ARCH OUTPUT.c [SYMBOL]
 *
 * ARCH is the architecture that bawn is built for, x86_64 or aarch64; this tool itself runs on any. SYMBOL names the
 * table, `seccomp_programs` unless the tests want a second one in the same program.
 *
 * libseccomp knows what number a call has on which architecture, and is asked for nothing else: its own compiler can
 * neither say "any request but these two, by their lower half" nor "any other family gets this errno". The code made
 * here is a search tree over ranges of numbers that share a verdict. Most calls lie in a few long ranges, so that it has
 * a quarter of the instructions of one that knows each number, and loads the faster for it.
 *
 * A verdict that does not depend on arguments is reached without loading any: only then does the kernel (5.11) notice
 * when the program is loaded that the call is always allowed, and does not run the program for it at all.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/fiemap.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/fscrypt.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "kernel/seccomp_kinds.h"

#define array_len(array) (sizeof(array) / sizeof((array)[0]))

/* Requests of file systems, whose headers are not part of the kernel's for programs. */
#define XFS_EXCHANGE_EXTENTS 0xc0c0586dU /* XFS_IOC_SWAPEXT */
#define EXT4_MOVE_EXTENTS    0xc028660fU /* EXT4_IOC_MOVE_EXT */
#define FAT_SET_ATTRIBUTES   0x40047211U /* FAT_IOCTL_SET_ATTRIBUTES */

enum {
    X86_64_NOFOLLOW = 0400000,
    AARCH64_NOFOLLOW = 0100000,
    X86_64_DIRECTORY = 0200000,
    AARCH64_DIRECTORY = 040000,
    JUST_O_PATH = 010000000,
    READ_ONLY_MODE = 0444,      /* which git gives to objects, and nobody to shared memory */
    JUST_O_TMPFILE = 020000000, /* without O_DIRECTORY, which is another number on each architecture */
    SOCKET_TYPE = 0xf, /* beside SOCK_CLOEXEC and SOCK_NONBLOCK; the kernel's headers for programs lack it */
    REQUEST_TYPE = 0xff00, /* of an ioctl: whose it is */
    BTRFS_REQUESTS = 0x9400,
    BCACHEFS_REQUESTS = 0xbc00,
    FLAGS_REQUESTS = 'f' << 8,
    VERSION_REQUESTS = 'v' << 8,
    XFS_REQUESTS = 'X' << 8,
    IOPRIO_PROCESS = 1,
    IOPRIO_GROUP = 2, /* IOPRIO_WHO_PGRP, and of a user */
    IOPRIO_USER = 3,
    F2FS_REQUESTS = 0xf500,
    MOST_NUMBERS = 1024, /* no architecture comes near */
    MOST_RANGES = 256,
    MOST_LABELS = 512,
    MOST_STEPS = 16,
    LONGEST_NAME = 64,
    NAMES_PATH = 1, /* beside SECCOMP_RET_ALLOW, until it is settled: the call names a path */
};

/* --- the list, as data --------------------------------------------------------------------------------------------- */

struct verdict {
    const char *check; /* NULL: not a matter of arguments */
    uint32_t action;   /* SECCOMP_RET_…; zero kills */
};

enum step_kind { STEP_END, STEP_LOAD, STEP_MASK, STEP_EQUAL, STEP_ANY, STEP_ABOVE, STEP_OTHERWISE };

struct step {
    enum step_kind kind;
    uint32_t value;
    uint32_t aarch64; /* the value there, if the architectures differ; else 0 */
    struct verdict verdict;
};

struct check {
    const char *name;
    struct step steps[MOST_STEPS];
};

/* Names with commas between them, and their verdict in each of the programs. */
struct calls {
    const char *names;
    struct verdict verdicts[SECCOMP_KINDS];
};

/* clang-format off */
#define ALLOWED           {.action = SECCOMP_RET_ALLOW}
#define ERRNO(errnum)     {.action = SECCOMP_RET_ERRNO | (errnum)}
#define JUDGE             {.action = SECCOMP_RET_USER_NOTIF}
#define COUNTS            {.action = SECCOMP_COUNTED}
#define NAMED             {.action = SECCOMP_RET_ALLOW | NAMES_PATH}
#define THEN(name)        {.check = #name}

/* Both architectures are little-endian. */
#define LOW(n)            {.kind = STEP_LOAD, .value = offsetof(struct seccomp_data, args[n])}
#define HIGH(n)           {.kind = STEP_LOAD, .value = offsetof(struct seccomp_data, args[n]) + 4}
#define MASK(bits)        {.kind = STEP_MASK, .value = (bits)}
#define EQUAL(equal, ...) {.kind = STEP_EQUAL, .value = (equal), .verdict = __VA_ARGS__}
#define MASK_ON(x86_64_bits, aarch64_bits) {.kind = STEP_MASK, .value = (x86_64_bits), .aarch64 = (aarch64_bits)}
#define EQUAL_ON(x86_64_equal, aarch64_equal, ...) \
    {.kind = STEP_EQUAL, .value = (x86_64_equal), .aarch64 = (aarch64_equal), .verdict = __VA_ARGS__}
#define ANY(bits, ...)    {.kind = STEP_ANY, .value = (bits), .verdict = __VA_ARGS__}
#define ABOVE(below, ...) {.kind = STEP_ABOVE, .value = (below), .verdict = __VA_ARGS__}
#define OTHERWISE(...)    {.kind = STEP_OTHERWISE, .verdict = __VA_ARGS__}

#define ALLOW(...)
#define NAMES(...)
#define REFUSE(errnum, ...)
#define NESTED(errnum, ...)
#define CHECK(check, ...)
#define NESTED_CHECK(check, ...)
#define NESTED_BARE_CHECK(check, own, ...)
#define USER_CHECK(check, ...)
#define ROOT_CHECK(check, ...)
#define ROOT_REFUSE(errnum, ...)
#define OPEN_CHECK(check, own, old, ...)
#define OLD(check, ...)
#define OLD_JUDGED(...)
#define BARE_REFUSE(errnum, ...)
#define BARE_CHECK(check, own, ...)
#define BARE_ONLY(own, ...)
#define TOLD(...)
#define COUNTED(...)
#define JUDGED(...)
#define JUDGED_NAME(...)
#define JUDGED_NAME_IF(check, ...)
#define JUDGED_MODE(check, ...)
#define JUDGED_OWNER(check, ...)
#define DEFINE_CHECK(name, ...)  {#name, {__VA_ARGS__}},
static const struct check all_checks[] = {
#include "kernel/seccomp_calls.h"
};
#undef ALLOW
#undef NAMES
#undef REFUSE
#undef NESTED
#undef CHECK
#undef NESTED_CHECK
#undef NESTED_BARE_CHECK
#undef USER_CHECK
#undef ROOT_CHECK
#undef ROOT_REFUSE
#undef OPEN_CHECK
#undef OLD
#undef OLD_JUDGED
#undef BARE_REFUSE
#undef BARE_CHECK
#undef BARE_ONLY
#undef TOLD
#undef COUNTED
#undef JUDGED
#undef JUDGED_NAME
#undef JUDGED_NAME_IF
#undef JUDGED_MODE
#undef JUDGED_OWNER
#undef DEFINE_CHECK

/* In the order of seccomp_kinds.h. The programs without namespaces are alike in all but JUDGED_NAME, OLD and TOLD. */
#define ALL_VERDICTS(by_default, nested, root, bare, frozen, old) \
    {by_default, nested, root, bare, frozen, old, bare, frozen, old, frozen, old}
#define VERDICTS(by_default, nested, root, bare) ALL_VERDICTS(by_default, nested, root, bare, bare, bare)
#define ALLOW(...)                  {#__VA_ARGS__, VERDICTS(ALLOWED, ALLOWED, ALLOWED, ALLOWED)},
#define NAMES(...)                  {#__VA_ARGS__, VERDICTS(NAMED, NAMED, NAMED, NAMED)},
#define REFUSE(errnum, ...)         {#__VA_ARGS__, VERDICTS(ERRNO(errnum), ERRNO(errnum), ERRNO(errnum), ERRNO(errnum))},
#define NESTED(errnum, ...)         {#__VA_ARGS__, VERDICTS(ERRNO(errnum), ALLOWED, ERRNO(errnum), ERRNO(errnum))},
#define CHECK(check, ...)           {#__VA_ARGS__, VERDICTS(THEN(check), THEN(check), THEN(check), THEN(check))},
#define NESTED_CHECK(check, ...)    {#__VA_ARGS__, VERDICTS(THEN(check), ALLOWED, THEN(check), THEN(check))},
#define NESTED_BARE_CHECK(check, own, ...) \
    {#__VA_ARGS__, VERDICTS(THEN(check), ALLOWED, THEN(check), THEN(own))},
#define USER_CHECK(check, ...)      {#__VA_ARGS__, VERDICTS(THEN(check), ALLOWED, ALLOWED, ALLOWED)},
#define ROOT_CHECK(check, ...)      {#__VA_ARGS__, VERDICTS(ALLOWED, ALLOWED, THEN(check), THEN(check))},
#define ROOT_REFUSE(errnum, ...)    {#__VA_ARGS__, VERDICTS(ALLOWED, ALLOWED, ERRNO(errnum), ERRNO(errnum))},
#define OPEN_CHECK(check, own, old, ...) \
    {#__VA_ARGS__, ALL_VERDICTS(ALLOWED, ALLOWED, THEN(check), THEN(own), THEN(own), THEN(old))},
#define BARE_REFUSE(errnum, ...)    {#__VA_ARGS__, VERDICTS(ALLOWED, ALLOWED, ALLOWED, ERRNO(errnum))},
#define BARE_CHECK(check, own, ...) {#__VA_ARGS__, VERDICTS(THEN(check), THEN(check), THEN(check), THEN(own))},
#define BARE_ONLY(own, ...)         {#__VA_ARGS__, VERDICTS(ALLOWED, ALLOWED, ALLOWED, THEN(own))},
#define TOLD(...) \
    {#__VA_ARGS__, {ALLOWED, ALLOWED, ALLOWED, ALLOWED, ALLOWED, ALLOWED, JUDGE, JUDGE, JUDGE, JUDGE, JUDGE}},
#define COUNTED(...)                {#__VA_ARGS__, VERDICTS(ALLOWED, ALLOWED, ALLOWED, COUNTS)},
#define JUDGED(...)                 {#__VA_ARGS__, VERDICTS(ALLOWED, ALLOWED, ALLOWED, JUDGE)},
#define JUDGED_NAME(...)            {#__VA_ARGS__, ALL_VERDICTS(ALLOWED, ALLOWED, ALLOWED, ALLOWED, JUDGE, JUDGE)},
#define JUDGED_NAME_IF(check, ...)  {#__VA_ARGS__, ALL_VERDICTS(ALLOWED, ALLOWED, ALLOWED, THEN(check), JUDGE, JUDGE)},
#define OLD(check, ...)             {#__VA_ARGS__, ALL_VERDICTS(ALLOWED, ALLOWED, ALLOWED, ALLOWED, ALLOWED, THEN(check))},
#define OLD_JUDGED(...)             {#__VA_ARGS__, ALL_VERDICTS(ALLOWED, ALLOWED, ALLOWED, ALLOWED, ALLOWED, JUDGE)},
#define JUDGED_MODE(check, ...)     {#__VA_ARGS__, VERDICTS(ALLOWED, ALLOWED, THEN(check), JUDGE)},
#define JUDGED_OWNER(check, ...)    {#__VA_ARGS__, VERDICTS(THEN(check), ALLOWED, ALLOWED, JUDGE)},
#define DEFINE_CHECK(name, ...)
static const struct calls all_calls[] = {
#include "kernel/seccomp_calls.h"
};
/* clang-format on */

struct target {
    const char *name;
    uint32_t libseccomp, audit;
};
static const struct target targets[] = {
    {"x86_64", SCMP_ARCH_X86_64, AUDIT_ARCH_X86_64},
    {"aarch64", SCMP_ARCH_AARCH64, AUDIT_ARCH_AARCH64},
};

struct late_number {
    const char *name;
    int numbers[array_len(targets)];
};
/* clang-format off */
#define NUMBER(name, x86_64, aarch64) {#name, {x86_64, aarch64}},
/* clang-format on */
static const struct late_number late_numbers[] = {
#include "kernel/uapi/syscall_numbers.h"
};

/* --- from names to numbers ----------------------------------------------------------------------------------------- */

static _Noreturn void fail(const char *what, const char *object)
{
    fprintf(stderr, "seccomp-compile: %s: %s\n", object, what);
    exit(1);
}

/* -1 where this architecture has no such call. */
static int number_of(const struct target *target, const char *name)
{
    int known = seccomp_syscall_resolve_name_arch(target->libseccomp, name);
    for (size_t i = 0; i < array_len(late_numbers); i++) {
        if (strcmp(late_numbers[i].name, name) != 0)
            continue;
        int number = late_numbers[i].numbers[target - targets];
        if (known >= 0 && known != number)
            fail("libseccomp knows another number than uapi/syscall_numbers.h", name);
        return number;
    }
    if (known == __NR_SCMP_ERROR)
        fail("unknown to libseccomp: misspelt, or its number belongs in uapi/syscall_numbers.h", name);
    return known < 0 ? -1 : known; /* below -1 are the calls of other architectures */
}

static void take_names(const struct target *target, const char *names, struct verdict verdict,
                       struct verdict *table, bool *taken)
{
    while (*names) {
        size_t size = strcspn(names, ", ");
        char name[LONGEST_NAME];
        if (size == 0 || size >= sizeof(name))
            fail("not a list of names", names);
        memcpy(name, names, size);
        name[size] = '\0';
        names += size;
        names += strspn(names, ", ");

        int number = number_of(target, name);
        if (number < 0)
            continue;
        if (number >= MOST_NUMBERS)
            fail("its number is out of all proportion", name);
        if (taken[number])
            fail("named twice", name);
        taken[number] = true;
        table[number] = verdict;
    }
}

/* --- code, with labels in the place of distances --------------------------------------------------------------------- */

enum { NEXT = 0 }; /* the label of whatever comes next */

struct instruction {
    uint16_t code;
    uint32_t value;
    size_t if_true, if_false; /* labels */
};

struct program {
    struct instruction code[SECCOMP_MOST_CODE];
    size_t count;
    size_t places[MOST_LABELS]; /* of labels */
    size_t label_count;
    struct {
        struct verdict verdict;
        size_t label;
    } verdicts[MOST_LABELS];
    size_t verdict_count;
};

static void emit(struct program *program, uint16_t code, uint32_t value, size_t if_true, size_t if_false)
{
    if (program->count == SECCOMP_MOST_CODE)
        fail("too long", "the program");
    program->code[program->count++] = (struct instruction){code, value, if_true, if_false};
}

static size_t new_label(struct program *program)
{
    if (program->label_count == MOST_LABELS - 1)
        fail("too many labels", "the program");
    return ++program->label_count;
}

static void place(struct program *program, size_t label)
{
    program->places[label] = program->count;
}

static bool same_verdict(struct verdict a, struct verdict b)
{
    if (a.check && b.check)
        return strcmp(a.check, b.check) == 0;
    return !a.check && !b.check && a.action == b.action;
}

/* A call that names a path is passed on in the programs of `bawn learn`. */
static struct verdict settle(struct verdict verdict, enum seccomp_kind kind)
{
    const struct verdict judge = JUDGE, allowed = ALLOWED;
    if (verdict.check || verdict.action != (SECCOMP_RET_ALLOW | NAMES_PATH))
        return verdict;
    return kind == SECCOMP_BARE_LEARN || kind == SECCOMP_BARE_OLD_LEARN ? judge : allowed;
}

/* The code of a verdict is there once, behind everything that leads to it. */
static size_t label_of_verdict(struct program *program, struct verdict verdict)
{
    for (size_t i = 0; i < program->verdict_count; i++) {
        if (same_verdict(program->verdicts[i].verdict, verdict))
            return program->verdicts[i].label;
    }
    size_t label = new_label(program), at = program->verdict_count++;
    program->verdicts[at].verdict = verdict;
    program->verdicts[at].label = label;
    return label;
}

/* --- the tree ---------------------------------------------------------------------------------------------------------- */

struct range {
    uint32_t first;
    struct verdict verdict;
};

/* Ranges, and for each run of them the best way to tell them apart: where to cut it in two, or 0 to ask one by one. */
struct tree {
    struct range ranges[MOST_RANGES];
    size_t count;
    uint64_t cost[MOST_RANGES][MOST_RANGES + 1];
    size_t cut[MOST_RANGES][MOST_RANGES + 1];
};

/* The last range has no end: it holds what is beyond the table, new calls and those of x32. */
static void find_ranges(struct tree *tree, const struct verdict *table, struct verdict beyond)
{
    tree->count = 0;
    for (uint32_t number = 0; number <= MOST_NUMBERS; number++) {
        struct verdict verdict = number < MOST_NUMBERS ? table[number] : beyond;
        if (tree->count && same_verdict(tree->ranges[tree->count - 1].verdict, verdict))
            continue;
        if (tree->count == MOST_RANGES)
            fail("too many ranges", "the program");
        tree->ranges[tree->count++] = (struct range){number, verdict};
    }
}

static uint64_t width(const struct tree *tree, size_t at)
{
    /* The kernel's table ends with the known numbers, more or less: what lies beyond weighs nothing. */
    return at + 1 < tree->count ? tree->ranges[at + 1].first - tree->ranges[at].first : 1;
}

/* Single numbers amid a common verdict: one comparison tells each from both of its sides. */
static bool is_dotted(const struct tree *tree, size_t from, size_t to)
{
    for (size_t i = from + 1; i < to; i++) {
        bool is_dot = (i - from) % 2 == 1;
        if (is_dot ? width(tree, i) != 1 : !same_verdict(tree->ranges[i].verdict, tree->ranges[from].verdict))
            return false;
    }
    return (to - from) % 2 == 1;
}

/*
 * What loading costs, measured on Linux 6.18: the kernel compiles each instruction, and follows the program once for
 * every number, to find out which calls it need not run it for. The former takes as long as 45 steps of the latter.
 */
static uint64_t cost_of_dots(const struct tree *tree, size_t from, size_t to)
{
    uint64_t dots = (to - from) / 2, cost = 45 * dots;
    for (size_t i = from; i < to; i++) {
        bool is_dot = (i - from) % 2 == 1;
        cost += is_dot ? (i - from + 1) / 2 : width(tree, i) * dots;
    }
    return cost;
}

static void shape_run(struct tree *tree, size_t from, size_t to)
{
    uint64_t best = UINT64_MAX, numbers = 0;
    size_t best_cut = 0;
    if (is_dotted(tree, from, to))
        best = cost_of_dots(tree, from, to);
    for (size_t i = from; i < to; i++)
        numbers += width(tree, i);
    for (size_t cut = from + 1; cut < to; cut++) {
        uint64_t cost = 45 + numbers + tree->cost[from][cut] + tree->cost[cut][to];
        if (cost < best) {
            best = cost;
            best_cut = cut;
        }
    }
    tree->cost[from][to] = best;
    tree->cut[from][to] = best_cut;
}

static void shape_tree(struct tree *tree)
{
    for (size_t count = 1; count <= tree->count; count++) {
        for (size_t from = 0; from + count <= tree->count; from++)
            shape_run(tree, from, from + count);
    }
}

static void emit_tree(struct program *program, const struct tree *tree, size_t from, size_t to)
{
    const struct range *ranges = tree->ranges;
    size_t cut = tree->cut[from][to];
    if (cut == 0) {
        for (size_t dot = from + 1; dot < to; dot += 2) {
            size_t otherwise = dot + 2 == to ? label_of_verdict(program, ranges[from].verdict) : NEXT;
            emit(program, BPF_JMP | BPF_JEQ | BPF_K, ranges[dot].first,
                 label_of_verdict(program, ranges[dot].verdict), otherwise);
        }
        return;
    }
    bool left_ends = cut - from == 1, right_ends = to - cut == 1;
    size_t left = left_ends ? label_of_verdict(program, ranges[from].verdict) : NEXT;
    size_t right = right_ends ? label_of_verdict(program, ranges[cut].verdict) : new_label(program);
    emit(program, BPF_JMP | BPF_JGE | BPF_K, ranges[cut].first, right, left);
    if (!left_ends)
        emit_tree(program, tree, from, cut);
    if (!right_ends) {
        place(program, right);
        emit_tree(program, tree, cut, to);
    }
}

/* --- checks ------------------------------------------------------------------------------------------------------------ */

static uint16_t code_of_step(enum step_kind kind)
{
    switch (kind) {
    case STEP_LOAD:
        return BPF_LD | BPF_W | BPF_ABS;
    case STEP_MASK:
        return BPF_ALU | BPF_AND | BPF_K;
    case STEP_EQUAL:
        return BPF_JMP | BPF_JEQ | BPF_K;
    case STEP_ANY:
        return BPF_JMP | BPF_JSET | BPF_K;
    case STEP_ABOVE:
        return BPF_JMP | BPF_JGT | BPF_K;
    case STEP_END:
    case STEP_OTHERWISE:
        break;
    }
    return 0;
}

static void emit_check(struct program *program, const struct target *target, const struct check *check,
                       enum seccomp_kind kind)
{
    bool is_aarch64 = target->audit == AUDIT_ARCH_AARCH64;
    for (const struct step *step = check->steps; step < check->steps + MOST_STEPS; step++) {
        uint16_t code = code_of_step(step->kind);
        bool jumps = BPF_CLASS(code) == BPF_JMP;
        if (code) {
            emit(program, code, is_aarch64 && step->aarch64 ? step->aarch64 : step->value,
                 jumps ? label_of_verdict(program, settle(step->verdict, kind)) : NEXT, NEXT);
            continue;
        }
        if (step->kind == STEP_OTHERWISE && step > check->steps &&
            BPF_CLASS(code_of_step(step[-1].kind)) == BPF_JMP) {
            program->code[program->count - 1].if_false =
                label_of_verdict(program, settle(step->verdict, kind));
            return;
        }
        break;
    }
    fail("a check ends with a comparison and OTHERWISE", check->name);
}

static bool is_wanted(const struct program *program, const char *check, size_t *ret_label)
{
    for (size_t i = 0; i < program->verdict_count; i++) {
        if (program->verdicts[i].verdict.check && strcmp(program->verdicts[i].verdict.check, check) == 0) {
            *ret_label = program->verdicts[i].label;
            return true;
        }
    }
    return false;
}

/* --- all of it --------------------------------------------------------------------------------------------------------- */

static void make_program(struct program *program, const struct target *target, enum seccomp_kind kind)
{
    const struct verdict unknown = ERRNO(ENOSYS), foreign = {.action = SECCOMP_RET_KILL_PROCESS};
    static struct verdict table[MOST_NUMBERS];
    static struct tree tree;
    bool taken[MOST_NUMBERS] = {false};
    for (size_t i = 0; i < MOST_NUMBERS; i++)
        table[i] = unknown;
    for (size_t i = 0; i < array_len(all_calls); i++) {
        const struct calls *calls = &all_calls[i];
        take_names(target, calls->names, settle(calls->verdicts[kind], kind), table, taken);
    }

    memset(program, 0, sizeof(*program));
    emit(program, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), NEXT, NEXT);
    emit(program, BPF_JMP | BPF_JEQ | BPF_K, target->audit, NEXT, label_of_verdict(program, foreign));
    emit(program, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), NEXT, NEXT);
    find_ranges(&tree, table, unknown);
    shape_tree(&tree);
    emit_tree(program, &tree, 0, tree.count);
    for (size_t i = 0; i < array_len(all_checks); i++) {
        size_t label;
        if (!is_wanted(program, all_checks[i].name, &label))
            continue;
        place(program, label);
        emit_check(program, target, &all_checks[i], kind);
    }
    for (size_t i = 0; i < program->verdict_count; i++) {
        if (program->verdicts[i].verdict.check)
            continue;
        place(program, program->verdicts[i].label);
        emit(program, BPF_RET | BPF_K, program->verdicts[i].verdict.action, NEXT, NEXT);
    }
}

static bool is_far(const struct program *program, size_t from, size_t label)
{
    return label != NEXT && program->places[label] > from + 1 + UINT8_MAX;
}

/* Does nothing follow this instruction but what a label leads to? */
static bool ends(const struct instruction *at)
{
    return BPF_CLASS(at->code) == BPF_RET || at->code == (BPF_JMP | BPF_JA) ||
           (BPF_CLASS(at->code) == BPF_JMP && at->if_true != NEXT && at->if_false != NEXT);
}

static void insert(struct program *program, size_t index, struct instruction instruction)
{
    emit(program, 0, 0, NEXT, NEXT);
    memmove(&program->code[index + 1], &program->code[index],
            (program->count - 1 - index) * sizeof(*program->code));
    program->code[index] = instruction;
    for (size_t i = 1; i <= program->label_count; i++)
        program->places[i] += program->places[i] >= index;
}

/*
 * A comparison cannot jump over more than 255 instructions. It gets a stop on the way: what it leads to, if that is a verdict, else a jump there,
 * which can be as long as it likes. Returns the stop's label.
 */
static size_t make_stop(struct program *program, size_t from, size_t label)
{
    enum { NEAR = 200 }; /* later stops move this one */
    size_t index = from + NEAR;
    while (index > from + 1 && !ends(&program->code[index - 1]))
        index--;
    if (index == from + 1)
        fail("a jump is too far", "the program");
    const struct instruction there = program->code[program->places[label]];
    const struct instruction jump = {.code = BPF_JMP | BPF_JA, .if_true = label};
    insert(program, index, BPF_CLASS(there.code) == BPF_RET ? there : jump);
    size_t stop = new_label(program);
    program->places[stop] = index;
    return stop;
}

/* A verdict that only far comparisons led to is left over. */
static void remove_unused(struct program *program)
{
    bool used[SECCOMP_MOST_CODE + 1] = {true};
    for (size_t i = 0; i < program->count; i++) {
        const struct instruction *at = &program->code[i];
        used[i + 1] |= !ends(at);
        used[program->places[at->if_true]] |= at->if_true != NEXT;
        used[program->places[at->if_false]] |= at->if_false != NEXT;
    }
    for (size_t i = program->count; i-- > 0;) {
        if (used[i])
            continue;
        memmove(&program->code[i], &program->code[i + 1], (--program->count - i) * sizeof(*program->code));
        for (size_t label = 1; label <= program->label_count; label++)
            program->places[label] -= program->places[label] > i;
    }
}

/* Comparisons that lead to the same place share a stop. Returns whether one was made: it may have moved a place away from an earlier comparison. */
static bool make_stops(struct program *program)
{
    bool made = false;
    for (size_t i = 0; i < program->count; i++) {
        if (program->code[i].code == (BPF_JMP | BPF_JA))
            continue;
        for (unsigned side = 0; side < 2; side++) {
            size_t label = side ? program->code[i].if_false : program->code[i].if_true;
            if (!is_far(program, i, label))
                continue;
            size_t stop = make_stop(program, i, label);
            made = true;
            for (size_t j = i; j < program->places[stop]; j++) {
                struct instruction *at = &program->code[j];
                at->if_true = at->if_true == label ? stop : at->if_true;
                at->if_false = at->if_false == label ? stop : at->if_false;
            }
        }
    }
    return made;
}

static void bring_near(struct program *program)
{
    while (make_stops(program)) {
    }
    remove_unused(program);
}

/* Classic BPF jumps forward only, and not far. */
static unsigned distance(const struct program *program, size_t from, size_t label)
{
    if (label == NEXT)
        return 0;
    if (program->places[label] <= from)
        fail("a check is used by one that comes later, or is not defined", "the program");
    size_t far = program->places[label] - from - 1;
    if (far > UINT8_MAX)
        fail("a jump is too far", "the program");
    return (unsigned)far;
}

static void print_program(FILE *out, const struct program *program, const char *symbol, const char *kind)
{
    fprintf(out, "\nstatic const struct sock_filter %s_%s[] = {\n", symbol, kind);
    for (size_t i = 0; i < program->count; i++) {
        const struct instruction *at = &program->code[i];
        if (at->code == (BPF_JMP | BPF_JA)) {
            fprintf(out, "    {0x%02x, 0, 0, %zu},\n", at->code, program->places[at->if_true] - i - 1);
            continue;
        }
        fprintf(out, "    {0x%02x, %u, %u, 0x%08x},\n", at->code, distance(program, i, at->if_true),
                distance(program, i, at->if_false), at->value);
    }
    fputs("};\n", out);
}

int main(int count, char **arguments)
{
    const struct target *target = NULL;
    for (size_t i = 0; count >= 2 && i < array_len(targets); i++) {
        if (strcmp(arguments[1], targets[i].name) == 0)
            target = &targets[i];
    }
    if (count < 3 || count > 4 || !target) {
        fputs("usage: seccomp-compile x86_64|aarch64 OUTPUT.c [SYMBOL]\n", stderr);
        return 2;
    }
    const char *symbol = count == 4 ? arguments[3] : "seccomp_programs";
    static const char *const names[] = {SECCOMP_PROGRAMS(NAME_OF)};
    static struct program programs[SECCOMP_KINDS];
    for (enum seccomp_kind kind = 0; kind < SECCOMP_KINDS; kind++)
        make_program(&programs[kind], target, kind);
    for (enum seccomp_kind kind = 0; kind < SECCOMP_KINDS; kind++)
        bring_near(&programs[kind]);

    FILE *out = fopen(arguments[2], "wb");
    if (!out) {
        perror(arguments[2]);
        return 1;
    }
    fprintf(out, "/* Made by tools/seccomp-compile.c from src/kernel/seccomp_calls.h, for %s. */\n",
            target->name);
    fputs("#include \"kernel/seccomp.h\"\n", out);
    for (size_t kind = 0; kind < SECCOMP_KINDS; kind++)
        print_program(out, &programs[kind], symbol, names[kind]);
    fprintf(out,
            "\nextern const struct seccomp_program %s[SECCOMP_KINDS];\n"
            "const struct seccomp_program %s[SECCOMP_KINDS] = {\n",
            symbol, symbol);
    for (size_t kind = 0; kind < SECCOMP_KINDS; kind++)
        fprintf(out, "    {%zu, %s_%s},\n", programs[kind].count, symbol, names[kind]);
    fputs("};\n", out);
    return fclose(out) == 0 ? 0 : 1;
}
