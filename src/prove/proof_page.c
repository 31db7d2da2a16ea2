/* The findings as one file of HTML: no script, and nothing is fetched. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "journal/journal.h"
#include "kernel/landlock.h"
#include "policy/decide.h"
#include "prove/proof.h"

static const char head[] =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n<title>bawn prove</title>\n<style>\n"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#1c2024}\n"
    "h1{font-size:1.6rem;margin:0}h2{font-size:1.15rem;margin:2rem 0 .4rem}p{margin:.4rem 0}\n"
    ".sum{display:flex;gap:1rem;flex-wrap:wrap;margin:1.2rem 0}\n"
    ".sum div{border:1px solid #d9dee3;border-radius:.5rem;padding:.6rem 1rem;min-width:7rem}\n"
    ".sum b{display:block;font-size:1.5rem;line-height:1.2}\n"
    "table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.25rem .6rem;"
    "border-bottom:1px solid #eceff2}th{font-weight:600;width:11rem;white-space:nowrap}\n"
    "td{overflow-wrap:anywhere}td.v{width:5.5rem;font-weight:600}td.k{width:27rem;color:#56616c}\n"
    ".held{color:#1a7f37}.escaped{color:#fff;background:#c5221f}.granted,.not-held{color:#9a6700}.not-applicable{color:#7a858f}\n"
    "tr.not-applicable td{color:#7a858f}code{font:13px ui-monospace,monospace;overflow-wrap:anywhere}\n"
    "details{margin:.2rem 0}summary{cursor:pointer}\n"
    "@media print{body{margin:0;max-width:none;font-size:11px}}\n</style>\n</head>\n<body>\n";

static void add_fact(struct buf *out, const char *name, const char *value)
{
    buf_printf(out, "<tr><th>%s</th><td>", name);
    text_add_html(out, value);
    buf_add_str(out, "</td></tr>\n");
}

/* The command line without the secrets in it, since the page is handed on. */
static const char *command_text(struct arena *arena, const struct proof *proof)
{
    auto_buf struct buf text = {0}, shown = {0};
    struct secrets secrets = {0};
    for (const char *const *word = proof->typed; *word; word++)
        buf_printf(&text, "%s%s", word == proof->typed ? "" : " ", *word);
    secrets_find(arena, proof->environment, &secrets);
    redact_add(&shown, &secrets, buf_text(&text), text.size);
    secrets_free(&secrets);
    return arena_str(arena, buf_text(&shown));
}

static const char *network_text(const struct proof *proof)
{
    static const char *const texts[] = {
        [NET_OFF] = "none",
        [NET_ALLOW] = "its own; only hosts that a rule allows can be reached",
        [NET_OPEN] = "this machine's, without a wall, because of `net open`",
    };
    const struct rule *rule = decide_net(proof->plan->policy, NULL).decides;
    return texts[rule ? rule->net : NET_OFF];
}

static void add_walls(struct buf *out, const struct proof *proof, struct arena *arena)
{
    const struct plan *plan = proof->plan;
    add_fact(out, "Landlock", arena_printf(arena, "version %d of its interface", landlock_abi()));
    if (!plan->given_up.count)
        add_fact(out, "Walls", "own root, namespaces, Landlock, seccomp, no capabilities");
    vec_each (const struct given_up, one, &plan->given_up) {
        add_fact(out, "Wall turned off",
                 arena_printf(arena, "%s, by %s: %s", wall_name(one->wall), one->by, wall_loss(one->wall)));
    }
}

static void add_facts(struct buf *out, const struct proof *proof, struct arena *arena)
{
    struct utsname machine = {0};
    struct tm when;
    char moment[64] = "", host[256] = "";
    time_t now = time(NULL);
    uname(&machine);
    if (gmtime_r(&now, &when))
        strftime(moment, sizeof(moment), "%Y-%m-%d %H:%M UTC", &when);
    gethostname(host, sizeof(host) - 1);
    buf_add_str(out, "<table>\n");
    add_fact(out, "Command", command_text(arena, proof));
    add_fact(out, "When", moment);
    add_fact(out, "Machine", host);
    add_fact(out, "Kernel", arena_printf(arena, "Linux %s, %s", machine.release, machine.machine));
    add_fact(out, "Started by", proof->is_root ? "root" : "an ordinary user");
    add_fact(out, "bawn", BAWN_VERSION);
    add_walls(out, proof, arena);
    add_fact(out, "Network", network_text(proof));
    add_fact(out, "Policy (SHA-256)", proof->policy_hash);
    buf_add_str(out, "</table>\n");
}

static void add_summary(struct buf *out, const struct proof *proof)
{
    static const char *const titles[] = {
        [RULING_NOT_APPLICABLE] = "not applicable here",
        [RULING_HELD] = "held",
        [RULING_GRANTED] = "granted by the policy",
        [RULING_NOT_HELD] = "not held without namespaces",
        [RULING_ESCAPED] = "escaped",
    };
    static const enum ruling order[] = {RULING_HELD, RULING_ESCAPED, RULING_NOT_HELD, RULING_GRANTED,
                                        RULING_NOT_APPLICABLE};
    buf_add_str(out, "<div class=\"sum\">\n");
    for (size_t i = 0; i < array_len(order); i++) {
        if (proof->counts[order[i]] || order[i] != RULING_NOT_HELD)
            buf_printf(out, "<div class=\"%s\"><b>%zu</b>%s</div>\n",
                       proof->counts[order[i]] || order[i] != RULING_ESCAPED ? ruling_name(order[i]) : "held",
                       proof->counts[order[i]], titles[order[i]]);
    }
    buf_add_str(
        out,
        "</div>\n<p>Each attack was first tried without a sandbox, on decoys made for it. If it has no effect there, it is <em>not applicable</em>, and never counted as held. Then it was tried inside the sandbox that the command below makes on this machine. It is judged from outside: did a secret leak, did a file change, was a server reached, was a process killed.</p>\n");
}

static void add_row(struct buf *out, const struct finding *finding, struct arena *arena)
{
    const char *class = ruling_name(finding->ruling);
    buf_printf(out, "<tr class=\"%s\"><td class=\"v %s\">%s</td><td><details><summary>",
               finding->ruling == RULING_NOT_APPLICABLE ? class : "", class, ruling_word(finding->ruling));
    text_add_html(out, finding->attack->says);
    buf_add_str(out, "</summary><p>Why: ");
    text_add_html(out, finding->attack->why);
    buf_add_str(out, "</p><p>Seen: ");
    text_add_html(out, finding->attack->seen);
    buf_add_str(out, "</p><p>Without a sandbox: ");
    text_add_html(out, finding->said_without ? finding->said_without : "not tried");
    buf_printf(
        out,
        "</p><p>Source: <code>attacks/%s.c</code>, case <code>%s</code></p></details></td><td class=\"k\">",
        finding->attack->attack, finding->attack->name);
    text_add_html(out, proof_remark(arena, finding));
    buf_add_str(out, "</td></tr>\n");
}

void proof_add_page(const struct proof *proof, struct buf *out)
{
    auto_arena struct arena arena = {0};
    buf_add_str(out, head);
    buf_add_str(out, "<h1>bawn prove</h1>\n");
    add_summary(out, proof);
    add_facts(out, proof, &arena);
    for (enum promise promise = 0; promise < PROMISE_COUNT; promise++) {
        buf_printf(out, "<h2>%s</h2>\n<table>\n", promise_title(promise));
        for (size_t i = 0; i < proof->findings.count; i++) {
            if (proof->findings.at[i].attack->promise == promise)
                add_row(out, &proof->findings.at[i], &arena);
        }
        buf_add_str(out, "</table>\n");
    }
    buf_add_str(out, "</body>\n</html>\n");
}
