/* The findings as text for a terminal, and as JSON. */
#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/json.h"
#include "prove/proof.h"

/* The number of an errno name like ENOENT; 0 if there is none. */
static int errno_of(const char *name, size_t size)
{
    enum { LAST_ERRNO = 133 };
    for (int number = 1; number <= LAST_ERRNO; number++) {
        const char *known = strerrorname_np(number);
        if (known && strlen(known) == size && strncmp(known, name, size) == 0)
            return number;
    }
    return 0;
}

/* The kernel's answer in words: "open: No such file or directory". */
static const char *kernel_words(struct arena *arena, const struct finding *finding)
{
    const char *said = finding->said;
    if (!said)
        return "";
    size_t size = strcspn(said, " ");
    int number = errno_of(said, size);
    if (number && said[size])
        return arena_printf(arena, "%s: %s", said + size + 1, strerrordesc_np(number));
    if (strcmp(said, "killed") == 0)
        return "the kernel ended it";
    if (strcmp(said, "done") == 0 && finding->ruling == RULING_HELD)
        return "it worked, but nothing of it reached the outside";
    return strcmp(said, "done") == 0 ? "it worked" : arena_printf(arena, "it saw: %s", said);
}

static const enum colour colours[] = {
    [RULING_NOT_APPLICABLE] = COLOUR_DIM, [RULING_HELD] = COLOUR_GREEN,  [RULING_GRANTED] = COLOUR_YELLOW,
    [RULING_NOT_HELD] = COLOUR_YELLOW,    [RULING_ESCAPED] = COLOUR_RED,
};

const char *proof_remark(struct arena *arena, const struct finding *finding)
{
    const char *words = kernel_words(arena, finding);
    if (finding->ruling == RULING_NOT_APPLICABLE)
        return finding->reason;
    if (finding->ruling == RULING_NOT_HELD)
        return arena_printf(arena, "%s: not held in this mode: %s", words, finding->reason);
    if (finding->ruling == RULING_GRANTED)
        return arena_printf(arena, "%s: %s", words, finding->reason);
    for (enum sensor sensor = 0; finding->ruling == RULING_ESCAPED && sensor < SENSOR_COUNT; sensor++) {
        if (finding->tripped & 1u << sensor)
            return arena_printf(arena, "%s: %s%s%s", words, sensor_says(sensor), finding->reason ? ": " : "",
                                finding->reason ? finding->reason : "");
    }
    return words;
}

void proof_add_line(const struct style *style, struct buf *out, const struct finding *finding)
{
    auto_arena struct arena arena = {0};
    enum { WORD_COLUMNS = 9, SENTENCE_COLUMNS = 75 };
    enum colour text = finding->ruling == RULING_NOT_APPLICABLE ? COLOUR_DIM : COLOUR_PLAIN;
    buf_add_str(out, "  ");
    style_add_column(style, out, colours[finding->ruling], ruling_word(finding->ruling), WORD_COLUMNS);
    size_t columns = style_add(style, out, text, finding->attack->says);
    do
        buf_add_char(out, ' ');
    while (++columns < SENTENCE_COLUMNS);
    style_add(style, out, COLOUR_DIM, proof_remark(&arena, finding));
    buf_add_char(out, '\n');
}

void proof_add_summary(const struct proof *proof, const struct style *style, struct buf *out)
{
    auto_arena struct arena arena = {0};
    const size_t *counts = proof->counts;
    buf_printf(out, "%zu attacks: ", proof->findings.count);
    style_add(style, out, COLOUR_GREEN, arena_printf(&arena, "%zu held", counts[RULING_HELD]));
    if (counts[RULING_GRANTED])
        style_add(style, out, COLOUR_YELLOW,
                  arena_printf(&arena, ", %zu granted by the policy", counts[RULING_GRANTED]));
    if (counts[RULING_NOT_HELD])
        style_add(style, out, COLOUR_YELLOW,
                  arena_printf(&arena, ", %zu not held without namespaces", counts[RULING_NOT_HELD]));
    buf_printf(out, ", %zu not applicable here, ", counts[RULING_NOT_APPLICABLE]);
    style_add(style, out, counts[RULING_ESCAPED] ? COLOUR_RED : COLOUR_GREEN,
              counts[RULING_ESCAPED] ? arena_printf(&arena, "%zu ESCAPED", counts[RULING_ESCAPED])
                                     : "none escaped");
    buf_printf(out, "; %llu.%llu s\n", (unsigned long long)proof->milliseconds / 1000,
               (unsigned long long)proof->milliseconds % 1000 / 100);
}

void proof_add_text(const struct proof *proof, const struct style *style, struct buf *out)
{
    struct utsname machine = {0};
    uname(&machine);
    buf_printf(out, "Linux %s on %s, as %s\n", machine.release, machine.machine,
               proof->is_root ? "root" : "an ordinary user");
    for (enum promise promise = 0; promise < PROMISE_COUNT; promise++) {
        buf_add_char(out, '\n');
        style_add(style, out, COLOUR_BOLD, promise_title(promise));
        buf_add_char(out, '\n');
        for (size_t i = 0; i < proof->findings.count; i++) {
            if (proof->findings.at[i].attack->promise == promise)
                proof_add_line(style, out, &proof->findings.at[i]);
        }
    }
    buf_add_char(out, '\n');
    proof_add_summary(proof, style, out);
}

static void add_tripped(struct json *json, const char *key, sensor_set tripped)
{
    json_open(json, key, '[');
    for (enum sensor sensor = 0; sensor < SENSOR_COUNT; sensor++) {
        if (tripped & 1u << sensor)
            json_str(json, NULL, sensor_says(sensor));
    }
    json_close(json, ']');
}

static void add_finding_json(struct json *json, const struct finding *finding)
{
    const struct attack_case *attack = finding->attack;
    auto_arena struct arena arena = {0};
    json_open(json, NULL, '{');
    json_str(json, "name", attack->name);
    json_str(json, "promise", promise_name(attack->promise));
    json_str(json, "tried", attack->says);
    json_str(json, "verdict", ruling_name(finding->ruling));
    json_str(json, "said", finding->said);
    json_str(json, "said_without_sandbox", finding->said_without);
    if (finding->tripped)
        add_tripped(json, "effects", finding->tripped);
    if (finding->tripped_without)
        add_tripped(json, "effects_without_sandbox", finding->tripped_without);
    json_str(json, "reason", finding->reason);
    json_str(json, "remark", proof_remark(&arena, finding));
    json_close(json, '}');
}

void proof_add_json_line(struct buf *out, const struct finding *finding)
{
    struct json json = {.out = out, .on_one_line = true};
    add_finding_json(&json, finding);
    buf_add_char(out, '\n');
}

/* What is not of one finding: the machine, the policy, the counts. */
static void add_whole(struct json *json, const struct proof *proof)
{
    struct utsname machine = {0};
    const struct style plain = {0};
    auto_buf struct buf summary = {0};
    auto_arena struct arena arena = {0};
    uname(&machine);
    proof_add_summary(proof, &plain, &summary);
    json_str(json, "schema", "bawn.prove");
    json_int(json, "version", 1);
    json_str(json, "bawn", BAWN_VERSION);
    json_str(json, "kernel", machine.release);
    json_str(json, "architecture", machine.machine);
    json_bool(json, "root", proof->is_root);
    json_str(json, "policy_sha256", proof->policy_hash);
    json_int(json, "milliseconds", (int64_t)proof->milliseconds);
    json_str(json, "summary", arena_copy(&arena, buf_text(&summary), strcspn(buf_text(&summary), "\n")));
    json_open(json, "counts", '{');
    for (enum ruling ruling = 0; ruling < RULING_COUNT; ruling++)
        json_int(json, ruling_name(ruling), (int64_t)proof->counts[ruling]);
    json_close(json, '}');
}

void proof_add_json_summary(const struct proof *proof, struct buf *out)
{
    struct json json = {.out = out, .on_one_line = true};
    json_open(&json, NULL, '{');
    add_whole(&json, proof);
    json_close(&json, '}');
    buf_add_char(out, '\n');
}

void proof_add_json(const struct proof *proof, struct buf *out)
{
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    add_whole(&json, proof);
    json_open(&json, "attacks", '[');
    for (size_t i = 0; i < proof->findings.count; i++)
        add_finding_json(&json, &proof->findings.at[i]);
    json_close(&json, ']');
    json_close(&json, '}');
}
