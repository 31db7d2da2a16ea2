#include "emulate.h"

#include <stddef.h>
#include <string.h>

enum {
    LOAD = BPF_LD | BPF_W | BPF_ABS,
    AND = BPF_ALU | BPF_AND | BPF_K,
    IF_EQUAL = BPF_JMP | BPF_JEQ | BPF_K,
    IF_ABOVE = BPF_JMP | BPF_JGT | BPF_K,
    IF_AT_LEAST = BPF_JMP | BPF_JGE | BPF_K,
    IF_ANY = BPF_JMP | BPF_JSET | BPF_K,
    ALWAYS = BPF_JMP | BPF_JA,
    RETURN = BPF_RET | BPF_K,
};

static bool is_jump(const struct sock_filter *at)
{
    return at->code == IF_EQUAL || at->code == IF_ABOVE || at->code == IF_AT_LEAST || at->code == IF_ANY;
}

static const char *verify_one(const struct seccomp_program *program, size_t i)
{
    const struct sock_filter *at = &program->code[i];
    if (is_jump(at))
        return i + 1 + at->jt < program->count && i + 1 + at->jf < program->count ? NULL
                                                                                  : "jumps behind the end";
    if (at->jt || at->jf)
        return "has distances where nothing jumps";
    switch (at->code) {
    case LOAD:
        return at->k % 4 == 0 && at->k < sizeof(struct seccomp_data) ? NULL : "loads what is not there";
    case AND:
        return NULL;
    case ALWAYS:
        return at->k < program->count - i - 1 ? NULL : "jumps behind the end";
    case RETURN:
        switch (at->k & SECCOMP_RET_ACTION_FULL) {
        case SECCOMP_RET_ALLOW:
        case SECCOMP_RET_USER_NOTIF:
        case SECCOMP_RET_KILL_PROCESS:
            return (at->k & SECCOMP_RET_DATA) != 0 && at->k != SECCOMP_COUNTED ? "returns data that means nothing" : NULL;
        case SECCOMP_RET_ERRNO:
            return NULL;
        default:
            return "returns an unexpected action";
        }
    default:
        return "has an unexpected instruction";
    }
}

/* Every path ends: jumps lead forward, and the last instruction returns. */
const char *emulate_verify(const struct seccomp_program *program)
{
    if (program->count == 0 || program->count > BPF_MAXINSNS)
        return "is empty, or too long";
    bool reached[BPF_MAXINSNS + 1] = {true};
    for (size_t i = 0; i < program->count; i++) {
        const struct sock_filter *at = &program->code[i];
        const char *wrong = verify_one(program, i);
        if (wrong)
            return wrong;
        if (!reached[i])
            return "has instructions that nothing leads to";
        if (at->code == ALWAYS) {
            reached[i + 1 + at->k] = true;
        } else if (at->code != RETURN) {
            reached[i + 1 + at->jt] = true;
            reached[i + 1 + at->jf] = true;
        }
    }
    return program->code[program->count - 1].code == RETURN ? NULL : "does not end";
}

static bool holds(const struct sock_filter *at, uint32_t accumulator)
{
    switch (at->code) {
    case IF_EQUAL:
        return accumulator == at->k;
    case IF_ABOVE:
        return accumulator > at->k;
    case IF_AT_LEAST:
        return accumulator >= at->k;
    default:
        return (accumulator & at->k) != 0;
    }
}

struct emulated emulate(const struct seccomp_program *program, const struct seccomp_data *call)
{
    struct emulated result = {0};
    uint32_t accumulator = 0;
    for (const struct sock_filter *at = program->code;; at++) {
        result.steps++;
        if (at->code == RETURN) {
            result.action = at->k;
            return result;
        }
        if (at->code == LOAD) {
            memcpy(&accumulator, (const char *)call + at->k, sizeof(accumulator));
            result.saw_arguments |= at->k >= offsetof(struct seccomp_data, args);
        } else if (at->code == AND) {
            accumulator &= at->k;
        } else if (at->code == ALWAYS) {
            at += at->k;
        } else {
            at += holds(at, accumulator) ? at->jt : at->jf;
        }
    }
}
