#include "broker/objects.h"

#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "journal/journal.h"
#include "plan/plan.h"
#include "policy/decide.h"

enum { LONGEST_NAME = 128 };

static const struct decided is_a_question = {.reply = REPLY_OPEN};

/* bawn's own folders: its policy, its journals, the private homes. Nobody gives these to a sandbox by a key. */
static bool is_of_bawn(const struct policy *policy, struct arena *arena, const char *path)
{
    static const enum path_start starts[] = {START_CONFIG, START_DATA, START_STATE, START_CACHE};
    for (size_t i = 0; i < array_len(starts); i++) {
        const char *start = policy->request.starts[starts[i]];
        if (start && path_is_beneath(path, path_join(arena, start, "bawn")))
            return true;
    }
    return path_is_beneath(path, "/etc/bawn");
}

/* All of the machine, all of the user's files, devices: no key should give these. */
static bool is_too_wide(const struct policy *policy, const char *path)
{
    const char *home = policy->request.home;
    return (home && path_is_beneath(home, path)) || !path[1] || path_is_beneath(path, "/proc") ||
           path_is_beneath(path, "/sys") || path_is_beneath(path, "/dev");
}

static bool is_readable(enum access access)
{
    return access == ACCESS_READ || access == ACCESS_FROZEN || access == ACCESS_COPY ||
           access == ACCESS_SEED || access == ACCESS_SYNC || access == ACCESS_FLAGGED ||
           access == ACCESS_WRITE;
}

static bool is_writable(enum access access)
{
    return access == ACCESS_WRITE || access == ACCESS_FLAGGED;
}

/* What the rules say, without looking at the file. */
static struct decided judge_rules(const struct broker *broker, struct arena *arena, const char *path,
                                  struct question *question)
{
    bool writes = question->kind == QUESTION_WRITE;
    struct path_verdict verdict = decide_path(broker->policy, path, NULL);
    const struct rule *rule = verdict.decides ? verdict.decides->rule : NULL;
    if (writes ? is_writable(verdict.access) : is_readable(verdict.access))
        return decided_granted(
            arena_printf(arena, "%s can be %s already", question->object, writes ? "written" : "read"));
    if (rule && rule->locked)
        return decided_refused(
            "the administrator of this machine keeps that closed, and nobody can open it here");
    if (is_too_wide(broker->policy, path))
        return decided_refused("ask for less: a file, or the directory of one project");
    if (is_of_bawn(broker->policy, arena, path))
        return decided_refused("these are bawn's own files");
    if (rule && rule->verb != VERB_SEAL && (!is_readable(verdict.access) || verdict.access == ACCESS_FROZEN))
        return decided_refused(arena_printf(arena, "a rule of the policy decides about %s: `%s %s`",
                                            question->object, verb_word(rule->verb),
                                            broker_printable(arena, rule->written, PATH_LONGEST)));
    question->is_sealed = rule && rule->verb == VERB_SEAL;
    question->says =
        rule ? arena_printf(arena, "%s by `%s %s` (%s)", question->is_sealed ? "sealed" : "readable",
                            verb_word(rule->verb), broker_printable(arena, rule->written, PATH_LONGEST),
                            rule_origin(arena, rule))
             : "no rule names it";
    return is_a_question;
}

/* What is written outside the workspaces is in no snapshot. */
static const char *kind_text(enum file_kind kind, bool writes)
{
    switch (kind) {
    case FILE_REGULAR:
        return writes ? "a file, whose changes `bawn undo` does not take back" : "a file";
    case FILE_DIRECTORY:
        return writes ? "a directory with all that is in it, except that git directories stay read-only; "
                        "`bawn undo` does not take back what is written there"
                      : "a directory with all that is in it";
    case FILE_MISSING:
        return "nothing is there now";
    default:
        return "neither a file nor a directory";
    }
}

struct decided judge_path(const struct broker *broker, struct arena *arena, const char *text,
                          struct question *question)
{
    struct path_look look = {0};
    bool writes = question->kind == QUESTION_WRITE;
    if (!broker->look)
        return decided_refused("no file can be asked for in this run");
    const char *problem = broker->look(broker->context, arena, text, writes, &look);
    if (problem)
        return decided_refused(problem);
    question->object = look.path;
    question->identity = look.identity;
    struct decided decided = judge_rules(broker, arena, look.path, question);
    if (decided.reply != REPLY_OPEN)
        return decided;
    if (question->is_sealed && writes)
        return decided_refused("that is sealed: nobody can let a running command write it");
    question->is_missing = look.kind == FILE_MISSING;
    question->is_content = !writes && look.kind == FILE_REGULAR;
    question->not_now = question->is_missing ? "nothing is there" : look.not_now;
    question->says = arena_printf(arena, "%s; %s", kind_text(look.kind, writes), question->says);
    return decided;
}

static bool is_name(const char *text)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    size_t size = strlen(text);
    return size && size <= LONGEST_NAME && strspn(text, letters) == size && !strchr("0123456789", *text);
}

struct decided judge_variable(const struct broker *broker, struct arena *arena, const char *name,
                              struct question *question)
{
    const struct policy *policy = broker->policy;
    if (!is_name(name))
        return decided_refused("ask for one variable by its name: letters, digits and _");
    const struct rule *rule = decide_env(policy, name, NULL).decides;
    bool is_set = policy->request.environment && text_variable(policy->request.environment, name);
    question->object = arena_str(arena, name);
    if (decide_secret(policy, name))
        return decided_refused(
            arena_printf(arena, "%s stays outside: its placeholder works at the hosts that it is for", name));
    if (rule && rule->verb == VERB_ENV && (is_set || rule->env.value))
        return decided_granted(arena_printf(arena, "%s is in the environment of this run already", name));
    if (rule && rule->locked)
        return decided_refused(
            "the administrator of this machine keeps that variable out, and nobody can give it here");
    if (rule && rule->verb == VERB_UNSET)
        return decided_refused(arena_printf(arena, "a rule of the policy keeps %s out", name));
    question->is_sealed = secrets_is_name(name);
    question->is_content = true;
    question->is_missing = !is_set;
    question->says = !is_set               ? "it is not set outside"
                     : question->is_sealed ? "it is set outside, and its name is that of a secret"
                                           : "it is set outside; no rule names it";
    question->not_now = is_set ? "" : "it is not set outside";
    return is_a_question;
}
