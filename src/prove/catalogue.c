#include "kernel/own_program.h"
#include "prove/judge.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/text.h"

enum { FIELD_COUNT = 10, LARGEST_CATALOGUE = 1 << 20 };

DEFINE_TEXTS(promise_name, enum promise, PROMISES, NAME_OF)

DEFINE_TEXTS(promise_title, enum promise, PROMISES, TITLE_OF)

/* The text up to the separator, and the rest behind it; the rest is NULL at the end. */
static char *take(struct arena *arena, const char **text, const char *separator)
{
    const char *begin = *text, *end = strstr(begin, separator);
    *text = end ? end + strlen(separator) : NULL;
    return arena_copy(arena, begin, end ? (size_t)(end - begin) : strlen(begin));
}

static const char *const *split_options(struct arena *arena, const char *text)
{
    enum { MOST_OPTIONS = 16 };
    const char **options = arena_alloc(arena, (MOST_OPTIONS + 1) * sizeof(*options));
    for (size_t i = 0; text && *text && i < MOST_OPTIONS; i++)
        options[i] = take(arena, &text, " | ");
    return options;
}

static int parse_line(struct arena *arena, const char *line, struct attack_case *ret_case, struct err *err)
{
    const char *fields[FIELD_COUNT], *rest = line;
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (!rest)
            return err_set(err, "bawn-prove lists a case that is cut off: %.80s", line);
        fields[i] = take(arena, &rest, "\t");
    }
    enum promise promise = 0;
    while (promise < PROMISE_COUNT && strcmp(promise_name(promise), fields[2]) != 0)
        promise++;
    if (rest || promise == PROMISE_COUNT)
        return err_set(err, "bawn-prove lists a case that bawn cannot read: %.80s", line);
    *ret_case = (struct attack_case){
        .name = fields[0],
        .attack = fields[1],
        .promise = promise,
        .says = fields[3],
        .arguments = fields[4],
        .results = fields[5],
        .options = split_options(arena, fields[6]),
        .what = fields[7],
        .why = fields[8],
        .seen = fields[9],
    };
    return 0;
}

static int ask(const char *program, struct buf *answer, struct err *err)
{
    int pair[2], status = 0;
    if (pipe2(pair, O_CLOEXEC) < 0)
        return err_sys(err, errno, "cannot make a pipe");
    pid_t child = fork();
    if (child == 0) {
        dup2(pair[1], STDOUT_FILENO);
        const char *const words[] = {"bawn-prove", "--list", NULL};
        own_program_become(program, words, (const char *const *)environ);
        _exit(127);
    }
    close(pair[1]);
    auto_fd int from = pair[0];
    if (child < 0)
        return err_sys(err, errno, "cannot make a process");
    int failed = buf_read(answer, from, LARGEST_CATALOGUE);
    if (waitpid(child, &status, 0) != child || status != 0 || failed < 0)
        return err_set(err, "%s does not list its attacks", program);
    return 0;
}

int catalogue_read(const char *program, struct arena *arena, struct catalogue *ret_catalogue, struct err *err)
{
    auto_buf struct buf answer = {0};
    *ret_catalogue = (struct catalogue){0};
    if (ask(program, &answer, err) < 0)
        return -1;
    for (const char *rest = buf_text(&answer); rest && *rest;) {
        struct attack_case attack;
        if (parse_line(arena, take(arena, &rest, "\n"), &attack, err) < 0) {
            catalogue_free(ret_catalogue);
            return -1;
        }
        vec_push(&ret_catalogue->cases, attack);
    }
    return 0;
}

void catalogue_free(struct catalogue *catalogue)
{
    vec_free(&catalogue->cases);
}

const char *case_option(const struct attack_case *attack, const char *key)
{
    size_t size = strlen(key);
    for (const char *const *option = attack->options; *option; option++) {
        if (text_starts_with(*option, key) && ((*option)[size] == ' ' || !(*option)[size]))
            return *option + size + ((*option)[size] == ' ');
    }
    return NULL;
}

/* "root: EPERM setuid" is for root alone, and then the only one. */
static bool is_for(const char *result, const char *way)
{
    size_t size = strlen(way);
    return text_starts_with(result, way) && result[size] == ':';
}

bool case_expects(const struct attack_case *attack, bool as_root, const char *line)
{
    static const char *const ways[] = {"user", "root"};
    const char *own = ways[as_root];
    auto_arena struct arena arena = {0};
    bool has_own = false, expects_own = false, expects = false;
    for (const char *rest = attack->results; rest;) {
        const char *result = take(&arena, &rest, "; ");
        if (is_for(result, own)) {
            has_own = true;
            expects_own |= strcmp(result + strlen(own) + 2, line) == 0;
        } else if (!is_for(result, ways[!as_root])) {
            expects |= strcmp(result, line) == 0;
        }
    }
    return has_own ? expects_own : expects;
}

bool words_have(const char *words, const char *word)
{
    size_t size = strlen(word);
    while (*words && *words != ':') {
        size_t length = strcspn(words, " :");
        if (length == size && strncmp(words, word, size) == 0)
            return true;
        words += length;
        words += *words == ' ';
    }
    return false;
}
