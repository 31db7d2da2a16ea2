/*
 * The briefing: what an agent is told about its sandbox, as Markdown.
 *
 * An agent obeys what it reads here. So no word comes from whoever wrote the repository: rules of a policy that the user has not trusted
 * are counted and not repeated, and a path is plain letters in a code span, its other bytes escaped.
 */
#include <string.h>

#include "report/messages.h"

/* A code span. What could end it, or make words of a name, is escaped byte by byte. */
static void add_span(struct buf *out, const char *text, size_t size)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@~:*";
    buf_add_char(out, '`');
    for (size_t i = 0; i < size; i++) {
        if (strchr(plain, text[i]))
            buf_add_char(out, text[i]);
        else
            buf_printf(out, "\\x%02x", (unsigned char)text[i]);
    }
    buf_add_char(out, '`');
}

/* One line of Markdown: "- `PATH`". */
static void add_item(struct buf *out, const char *text)
{
    buf_add_str(out, "- ");
    add_span(out, text, strlen(text));
    buf_add_char(out, '\n');
}

/* Is the operation because of a policy that came with the repository, and that the user has not trusted? */
static bool is_of_stranger(const struct operation *operation)
{
    return operation->because && operation->because->source->only_tightens;
}

/* One line for each operation of this kind, and one for all of a stranger's. Returns whether there was one. */
static bool add_items(const struct plan *plan, struct buf *out, enum operation_kind kind)
{
    bool any = false;
    size_t untold = 0;
    vec_each (const struct operation, operation, &plan->operations) {
        if (operation->kind != kind)
            continue;
        any = true;
        if (is_of_stranger(operation))
            untold++;
        else if (kind == OP_CONNECT)
            add_item(out, host_with_port(plan->policy->arena, operation->value, operation->port));
        else
            add_item(out, operation->path);
    }
    if (untold)
        buf_printf(out, "- %zu more that the repository's own policy names; `bawn why PATH` explains each\n",
                   untold);
    return any;
}

static void add_full_access(struct buf *out)
{
    buf_add_str(
        out, "- every file that the person may write. These are the real files, and changes cannot be "
             "undone.\n"
             "\n"
             "Other processes, the person's environment and parts of the kernel stay out of your reach.\n");
}

/* An overlay cannot rename a directory of its lower layer, which programs do not expect. */
static void add_aside(struct buf *out)
{
    buf_add_str(out, "What you write in the project waits for review: the person decides about it when you "
                     "are done.\n"
                     "Renaming a directory that was there before fails with EXDEV (\"Invalid cross-device "
                     "link\"). `mv OLD\n"
                     "NEW` works. Instead of `git mv OLD NEW`, use `mv OLD NEW && git add -A OLD NEW`.\n"
                     "\n");
}

/* "- `NAME`: `WORD` `WORD`", of words with spaces or commas between them. */
static void add_named(struct buf *out, const char *name, const char *words)
{
    buf_add_str(out, "- ");
    add_span(out, name, strlen(name));
    buf_add_char(out, ':');
    while (*words) {
        size_t size = strcspn(words, " ,");
        buf_add_char(out, ' ');
        add_span(out, words, size);
        words += size + (words[size] != '\0');
    }
    buf_add_char(out, '\n');
}

/* Requests that rules allow or refuse. A stranger's words are not repeated: `bawn why` tells of them. */
static void add_requests(const struct plan *plan, struct buf *out)
{
    if (!operations_find(&plan->operations, OP_REQUEST))
        return;
    buf_add_str(out, "\nRules judge each request to these hosts, by its path and method:\n\n");
    vec_each (const struct operation, operation, &plan->operations) {
        if (operation->kind == OP_REQUEST && !is_of_stranger(operation))
            add_named(out, operation->value, operation->name);
    }
    buf_add_str(out, "\nA refused request gets a 403 that names the rule. `bawn why GET URL` explains it.\n");
}

/* What git may do with repositories on servers. Such rules are never a repository's own. */
static void add_forges(const struct plan *plan, struct buf *out)
{
    if (!operations_find(&plan->operations, OP_FORGE))
        return;
    buf_add_str(out, "\n## Repositories on servers\n\n");
    vec_each (const struct operation, operation, &plan->operations) {
        if (operation->kind != OP_FORGE)
            continue;
        add_named(out, operation->name, operation->value);
    }
    buf_add_str(out,
                "\ngit reaches those with a token by https and the others by ssh, and only so; the person's "
                "keys and tokens\nare not here. Whatever else is to be pushed, the person pushes.\n");
}

/* Where ssh may log in. Such rules are never a repository's own. */
static void add_ssh_keys(const struct plan *plan, struct buf *out)
{
    if (!operations_find(&plan->operations, OP_SSH_KEY))
        return;
    buf_add_str(out, "\n## Logins by ssh\n\n");
    vec_each (const struct operation, operation, &plan->operations) {
        if (operation->kind == OP_SSH_KEY)
            add_named(out, operation->name, operation->value);
    }
    buf_add_str(out,
                "\nThe ssh agent here has these keys, and signs logins at these hosts alone: no commit, no "
                "file, no\nforwarded agent. Some logins wait for the person's yes.\n");
}

/* How to ask for more: with bawn only where a program inside finds it. */
static void add_asking(const struct plan *plan, const char *bawn, struct buf *out)
{
    buf_add_str(out, "\n## Asking for more\n\n");
    if (bawn)
        buf_printf(
            out,
            "`%s why PATH` or `%s why HOST` names the rule that decides and the flag that would change it.\n"
            "Tell the person that flag. `%s ask connect HOST --because 'WHY'` asks the person for a host "
            "during the\n"
            "run, and waits for the answer; so does the tool `ask` of the MCP server `bawn`, if you have it. "
            "`%s ask`\n"
            "lists what can be asked for, and what is open. After a no, go on without it.",
            bawn, bawn, bawn, bawn);
    else
        buf_add_str(out, "Tell the person which path or host you need, and why. bawn itself is not there.");
    buf_add_str(out,
                operations_find(&plan->operations, OP_FORGE) ? "\n" : " You commit; the person pushes.\n");
}

void briefing_add(const struct plan *plan, bool is_kept_aside, struct buf *out)
{
    buf_add_str(out,
                "# You are inside a bawn sandbox\n"
                "\n"
                "The person who started you limits you to this project. If something is missing or refused "
                "here, that\n"
                "is intended: do not work around it. If the task needs more, say what and why, and stop. "
                "The person can\n"
                "grant it.\n"
                "\n"
                "## You may write\n"
                "\n");
    if (plan->policy->request.full_access) {
        add_full_access(out);
        return;
    }
    add_items(plan, out, OP_BIND_WRITE);
    buf_add_str(out,
                "- the home directory and `/tmp`, which are private to you and are not the person's own\n"
                "\n");
    if ((is_kept_aside || plan->request.nested) && !plan->policy->request.read_only)
        add_aside(out);
    buf_add_str(out, "You may read toolchains and system files. Keys, credentials, other projects and other "
                     "programs are\n"
                     "not there. Some are replaced by decoys; opening a decoy is reported to the person.\n"
                     "\n"
                     "## You may not change\n"
                     "\n");
    if (!add_items(plan, out, OP_FREEZE))
        buf_add_str(out, "- nothing inside what you may write is frozen\n");
    else
        buf_add_str(out, "\nA program that tries gets `Device or resource busy` or `Read-only file system`; "
                         "`git config` and\n"
                         "`git remote add`, too. Leave that to the person.\n");
    buf_add_str(out,
                "\n"
                "You may change CI files, hooks, editor settings and agent instructions. The person sees "
                "these changes\n"
                "at the end of the run, and decides about them.\n"
                "\n"
                "## Network\n"
                "\n");
    const char *net = operations_net(&plan->operations), *bawn = plan_own_name(plan->policy);
    if (strcmp(net, "off") == 0)
        buf_add_str(out, "There is none.\n");
    else if (strcmp(net, "open") == 0)
        buf_add_str(out, "It is open.\n");
    else if (!add_items(plan, out, OP_CONNECT))
        buf_add_str(out, "No host can be reached.\n");
    else if (bawn)
        buf_printf(out, "\nOther names do not resolve. `%s ask connect NAME` asks the person for one.\n",
                   bawn);
    else
        buf_add_str(out, "\nOther names do not resolve.\n");
    if (strcmp(net, "open") != 0)
        buf_add_str(
            out, "\n`localhost` is this sandbox's own. The person does not see a server of yours there: tell "
                 "them its port and\n`bawn publish PORT`. A database or another service on the person's "
                 "localhost refuses connections here,\nunless they start bawn with `--host-port PORT`.\n");
    add_requests(plan, out);
    add_forges(plan, out);
    add_ssh_keys(plan, out);
    buf_add_str(out,
                "\n"
                "## What does not work here\n"
                "\n"
                "No program can become root, and no container can be started: `sudo`, `docker`, `podman` "
                "and `buildah`\n"
                "fail. Build and test without them, and leave what needs a container to the person.\n");
    add_asking(plan, bawn, out);
}
