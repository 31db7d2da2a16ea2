#include "prove/judge.h"

#include <ctype.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/path.h"
#include "base/text.h"
#include "base/timespec.h"

enum { MOST_WORDS = 32, CONTROL_TRIES = 200, INSIDE_TRIES = 20, INSIDE_TIMES = 4, TRY_MICROSECONDS = 2500 };

DEFINE_TEXTS(ruling_name, enum ruling, RULINGS, NAME_OF)

DEFINE_TEXTS(ruling_word, enum ruling, RULINGS, TITLE_OF)

struct court {
    const struct battery *battery;
    struct arena *arena;
    struct sensors sensors;
    struct attacker attacker;
    const struct side *side; /* on which the attacker is */
    struct buf at_rest;      /* the files before it began, without what a run makes for its time */
    const char *remark;      /* about the files that the last run left; NULL: none */
    bool is_cut_short;       /* the last run did not end by itself */
    int looks;               /* until the sensor of this attack's control tripped */
};

/* --- one attack on one side -------------------------------------------------------------------------------------------- */

/* What came of it, on one side. */
struct effect {
    const char *said;
    sensor_set tripped;
};

static const char no_answer[] = "nothing";

/* The last line that is not empty, made fit for a terminal. */
static const char *last_line(struct arena *arena, const struct answer *answer)
{
    if (answer->is_killed)
        return "killed";
    size_t end = answer->printed.size;
    const char *bytes = buf_text(&answer->printed);
    while (end && isspace((unsigned char)bytes[end - 1]))
        end--;
    size_t begin = end;
    while (begin && bytes[begin - 1] != '\n')
        begin--;
    auto_buf struct buf line = {0};
    text_add_printable(&line, bytes + begin, end - begin);
    return end ? arena_str(arena, buf_text(&line)) : no_answer;
}

static bool is_refusal(const char *said)
{
    size_t size = strspn(said, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
    return *said == 'E' && size > 2 && said[size] == ' ';
}

static sensor_set wanted_sensor(const struct attack_case *attack)
{
    static const struct {
        const char *name;
        enum sensor sensor;
    } names[] = {
        {"canaries", SENSOR_FILES},     {"workspace", SENSOR_FILES},   {"new-files", SENSOR_FILES},
        {"attributes", SENSOR_FILES},   {"victim", SENSOR_VICTIM},     {"victim-limits", SENSOR_VICTIM},
        {"victim-nice", SENSOR_VICTIM}, {"terminal", SENSOR_TERMINAL}, {"listeners", SENSOR_LISTENERS},
        {"outlives", SENSOR_OUTLIVES},  {"left", SENSOR_LEFT},
    };
    const char *harms = case_option(attack, "harms");
    for (size_t i = 0; harms && i < array_len(names); i++) {
        if (strcmp(harms, names[i].name) == 0)
            return 1u << names[i].sensor;
    }
    return 0;
}

static bool is_on_group(const struct attack_case *attack)
{
    return case_option(attack, "in-group-of") != NULL;
}

static sensor_set read_sensors(struct court *court, const struct attack_case *attack)
{
    sensor_set tripped = sensors_read(&court->sensors);
    if (is_on_group(attack) && attacker_group_was_reached(&court->attacker))
        tripped |= 1u << SENSOR_VICTIM;
    return tripped;
}

static int begin_side(struct court *court, struct err *err)
{
    court->at_rest.size = 0;
    targets_age();
    targets_describe(court->battery->targets, &court->at_rest);
    if (attacker_begin(court->battery->targets, court->side, &court->attacker, err) < 0)
        return -1;
    sensors_calm(&court->sensors);
    return 0;
}

/* All is as it was. Inside, whoever stands in files that were made anew is started again. */
static int put_right(struct court *court, sensor_set tripped, struct err *err)
{
    if (!tripped)
        return 0;
    bool is_pinned = court->side == &court->battery->inside && !court->battery->inside_is_host_tree;
    if (is_pinned && tripped & 1u << SENSOR_FILES)
        attacker_end(&court->attacker);
    if (sensors_repair(&court->sensors, tripped, err) < 0)
        return -1;
    return court->attacker.pid < 0 ? begin_side(court, err) : 0;
}

static int attack_in_terminal(struct court *court, const char *const *words, struct answer *answer,
                              sensor_set *tripped, struct err *err)
{
    const char *command[MOST_WORDS + 2] = {court->battery->targets->program};
    for (size_t i = 1; i < MOST_WORDS && words[i]; i++)
        command[i] = words[i];
    bool is_typed;
    if (attacker_in_terminal(court->side, command, answer, &is_typed, err) < 0)
        return -1;
    *tripped |= is_typed ? 1u << SENSOR_TERMINAL : 0;
    return 0;
}

/*
 * A signal takes a moment to arrive: what says that it worked gets some time to trip its sensor. On a busy machine that is longer, as
 * its control has shown: an escape that is noticed too late would count as held.
 */
static sensor_set wait_for_sensor(struct court *court, const struct attack_case *attack, int tries)
{
    sensor_set wanted =
        wanted_sensor(attack) & ~(1u << SENSOR_TERMINAL | 1u << SENSOR_OUTLIVES | 1u << SENSOR_LEFT);
    for (court->looks = 0;; court->looks++) {
        sensor_set tripped = read_sensors(court, attack);
        if (!(wanted & ~tripped) || court->looks >= tries)
            return tripped;
        pause_microseconds(TRY_MICROSECONDS);
    }
}

/* Ends the run, and says whether a process or a file of the attack is still there. Files are put right. */
static int end_run(struct court *court, sensor_set *tripped, struct err *err)
{
    auto_buf struct buf now = {0};
    enum attacker_left left = attacker_end(&court->attacker);
    court->is_cut_short = left == LEFT_UNKNOWN;
    *tripped |= left == LEFT_ALIVE ? 1u << SENSOR_OUTLIVES : 0;
    targets_describe(court->battery->targets, &now);
    court->remark = targets_difference(court->battery->targets, &court->at_rest, &now);
    if (court->remark) {
        *tripped |= court->is_cut_short ? 0 : 1u << SENSOR_LEFT;
        if (sensors_repair(&court->sensors, 1u << SENSOR_FILES, err) < 0)
            return -1;
    }
    return begin_side(court, err);
}

static int carry_out(struct court *court, const struct attack_case *attack, const char *const *words,
                     struct effect *ret_effect, struct err *err)
{
    struct answer answer = {0};
    sensor_set tripped = 0;
    bool is_control = court->side == &court->battery->without;
    if (case_option(attack, "pty")) {
        if (attack_in_terminal(court, words, &answer, &tripped, err) < 0)
            return -1;
    } else if (attacker_order(&court->attacker, words, &answer) < 0) {
        /* It ended whoever carried it out, and with that the sandbox: no effect, but a new one is needed. */
        attacker_end(&court->attacker);
        if (begin_side(court, err) < 0)
            return -1;
    } else if (wanted_sensor(attack) & (1u << SENSOR_OUTLIVES | 1u << SENSOR_LEFT) &&
               end_run(court, &tripped, err) < 0) {
        return -1;
    }
    const char *said = last_line(court->arena, &answer);
    int tries = is_refusal(said) ? 0
                : is_control     ? CONTROL_TRIES
                                 : INSIDE_TRIES + INSIDE_TIMES * court->looks;
    tripped |= wait_for_sensor(court, attack, tries);
    if (answer.printed.size && memmem(answer.printed.bytes, answer.printed.size,
                                      court->battery->targets->token, strlen(court->battery->targets->token)))
        tripped |= 1u << SENSOR_CANARY;
    *ret_effect = (struct effect){said, tripped};
    buf_free(&answer.printed);
    return put_right(court, tripped & (1u << SENSOR_FILES | 1u << SENSOR_VICTIM | 1u << SENSOR_LISTENERS),
                     err);
}

/* --- what it means ------------------------------------------------------------------------------------------------------ */

static bool matches(const char *wanted, const char *said)
{
    for (const char *rest = wanted; *rest;) {
        const char *end = strstr(rest, " or ");
        size_t size = end ? (size_t)(end - rest) : strlen(rest);
        if (strlen(said) == size && strncmp(said, rest, size) == 0)
            return true;
        rest += size + (end ? strlen(" or ") : 0);
    }
    return false;
}

/* Why the case shows nothing on this machine, judged by its control; NULL where it shows something. */
static const char *shows_nothing(struct court *court, const struct attack_case *attack,
                                 const struct effect *effect)
{
    const char *wanted = case_option(attack, "control");
    sensor_set sensor = wanted_sensor(attack);
    bool is_root = court->battery->targets->is_root, differs = case_option(attack, "differs") != NULL;
    if (sensor & ~effect->tripped)
        return arena_printf(court->arena, "no effect without a sandbox either (%s)", effect->said);
    if (effect->tripped & 1u << SENSOR_CANARY || sensor)
        return NULL;
    if (differs)
        return text_starts_with(effect->said, "file ")
                   ? NULL
                   : arena_printf(court->arena, "there is none on this machine (%s)", effect->said);
    const char *filled = wanted ? fill(court->battery->targets, &court->sensors, wanted, NULL) : "done";
    bool is_as_wanted =
        filled && (*filled == '~' ? strstr(effect->said, filled + 1) != NULL : matches(filled, effect->said));
    if (!wanted || *wanted == '~')
        is_as_wanted = is_as_wanted && !text_starts_with(effect->said, "ENOSYS "); /* there is no such call */
    if (!is_as_wanted || case_expects(attack, is_root, effect->said))
        return arena_printf(court->arena, "the same without a sandbox (%s)", effect->said);
    return NULL;
}

/* Did the attack get through? By its effect, where it has one; otherwise by what the kernel said. */
static bool got_through(const struct court *court, const struct finding *finding)
{
    const struct attack_case *attack = finding->attack;
    /* A control with another target says nothing of what a success inside would show. */
    bool is_other_target = case_option(attack, "control-args") != NULL;
    sensor_set judged_by =
        is_other_target ? 0 : wanted_sensor(attack) | (finding->tripped_without & 1u << SENSOR_CANARY);
    if (finding->tripped)
        return true;
    if (judged_by)
        return false;
    if (strcmp(finding->said, finding->said_without) == 0)
        return true; /* the control got as far, and that was far enough */
    if (case_option(attack, "differs"))
        return false;
    return !case_expects(attack, court->battery->targets->is_root, finding->said) &&
           !is_refusal(finding->said);
}

/* --- the two rounds ------------------------------------------------------------------------------------------------------ */

/* Words of an order: namespaces, attack, arguments. Returns why there are none, or NULL. */
static const char *words_for(struct court *court, const struct attack_case *attack, bool is_control,
                             const char **ret_words)
{
    const char *decoy = case_option(attack, "decoy-args"), *control = case_option(attack, "control-args");
    const char *text = !is_control ? attack->arguments
                       : decoy     ? decoy
                       : control   ? control
                                   : attack->arguments;
    const char *namespaces = is_control ? case_option(attack, "control-in") : NULL, *lacks = NULL;
    size_t count = 0;
    ret_words[count++] = namespaces ? namespaces : "-";
    ret_words[count++] = attack->attack;
    while (*text && count < MOST_WORDS) {
        size_t size = strcspn(text, " ");
        const char *word = arena_copy(court->arena, text, size);
        ret_words[count] = fill(court->battery->targets, &court->sensors, word, &lacks);
        if (!ret_words[count++])
            return lacks;
        text += size + (text[size] == ' ');
    }
    ret_words[count] = NULL;
    return NULL;
}

/* What keeps a case from being tried here at all. */
static const char *not_here(struct court *court, const struct attack_case *attack)
{
    bool is_root = court->battery->targets->is_root;
    const char *way = is_root ? "root" : "user", *path = case_option(attack, "if");
    const char *module = case_option(attack, "loads"), *architecture = case_option(attack, "only-on");
    const char *by = case_option(attack, "only-by"), *control_by = case_option(attack, "control-by");
    struct utsname machine;
    if (architecture && uname(&machine) == 0 && strcmp(machine.machine, architecture) != 0)
        return arena_printf(court->arena, "only on %s", architecture);
    if (path && access(path, F_OK) < 0)
        return arena_printf(court->arena, "there is no %s", path);
    if (module && access(arena_printf(court->arena, "/sys/module/%s", module), F_OK) < 0)
        return arena_printf(court->arena, "the kernel has not loaded %s, and trying would load it", module);
    if ((by && !words_have(by, way)) || (control_by && !words_have(control_by, way)))
        return "it takes root to try it without a sandbox";
    return NULL;
}

/* Those that end whoever carries them out come last. */
static bool is_of_round(const struct attack_case *attack, int round)
{
    bool ends_run = wanted_sensor(attack) & (1u << SENSOR_OUTLIVES | 1u << SENSOR_LEFT);
    return round == (ends_run ? 2 : is_on_group(attack) ? 1 : 0);
}

static int try_without(struct court *court, struct finding *finding, struct err *err)
{
    const char *words[MOST_WORDS + 1];
    finding->reason = not_here(court, finding->attack);
    if (!finding->reason)
        finding->reason = words_for(court, finding->attack, true, words);
    if (finding->reason)
        return 0;
    struct effect effect;
    if (carry_out(court, finding->attack, words, &effect, err) < 0)
        return -1;
    finding->said_without = effect.said;
    finding->tripped_without = effect.tripped;
    finding->looks_without = court->looks;
    finding->reason = shows_nothing(court, finding->attack, &effect);
    return 0;
}

static int try_inside(struct court *court, struct finding *finding, struct err *err)
{
    const struct battery *battery = court->battery;
    const char *words[MOST_WORDS + 1];
    if (finding->reason)
        return 0;
    finding->reason = words_for(court, finding->attack, false, words);
    struct effect effect;
    if (finding->reason)
        return 0;
    court->is_cut_short = false;
    court->looks = finding->looks_without;
    if (carry_out(court, finding->attack, words, &effect, err) < 0)
        return -1;
    finding->said = effect.said;
    finding->tripped = effect.tripped;
    if (court->is_cut_short) {
        finding->reason = "the run did not end, so what it left behind was not checked";
        return 0;
    }
    if (strcmp(finding->said, no_answer) == 0 && !finding->tripped) {
        finding->reason = "it gave no answer inside";
        return 0;
    }
    finding->ruling = RULING_HELD;
    if (!got_through(court, finding))
        return 0;
    finding->reason = battery->granted(battery->granted_context, finding->attack, words + 2);
    finding->ruling = finding->reason ? RULING_GRANTED : RULING_ESCAPED;
    if (!finding->reason && finding->tripped & 1u << SENSOR_LEFT)
        finding->reason = court->remark;
    if (finding->reason || finding->tripped)
        return 0;
    finding->reason = battery->not_held(battery->granted_context, finding->attack);
    finding->ruling = finding->reason ? RULING_NOT_HELD : RULING_ESCAPED;
    return 0;
}

static int go_through(struct court *court, finding_list *findings, const struct side *side,
                      int (*try)(struct court *court, struct finding *finding, struct err *err),
                      struct err *err)
{
    court->side = side;
    for (int round = 0; round < 3; round++) {
        if (court->attacker.pid < 0 && begin_side(court, err) < 0)
            return -1;
        for (size_t i = 0; i < findings->count; i++) {
            if (!is_of_round(findings->at[i].attack, round))
                continue;
            if (try(court, &findings->at[i], err) < 0)
                return -1;
            if (try == try_inside && court->battery->told)
                court->battery->told(court->battery->told_context, &findings->at[i]);
        }
    }
    attacker_end(&court->attacker);
    return 0;
}

int judge(const struct battery *battery, finding_list *ret_findings, struct err *err)
{
    struct court court = {.battery = battery, .arena = battery->targets->arena, .attacker = ATTACKER_NONE};
    for (size_t i = 0; i < battery->catalogue->cases.count; i++)
        vec_push(ret_findings, (struct finding){.attack = &battery->catalogue->cases.at[i]});
    int result = sensors_begin(battery->targets, &court.sensors, err);
    if (result == 0)
        result = go_through(&court, ret_findings, &battery->without, try_without, err);
    if (result == 0)
        result = go_through(&court, ret_findings, &battery->inside, try_inside, err);
    if (result < 0)
        attacker_end(&court.attacker);
    sensors_end(&court.sensors);
    buf_free(&court.at_rest);
    return result;
}
