#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "kernel/process.h"
#include "outside/outside.h"
#include "supervise/vault.h"

enum {
    LARGEST_FILE = 1 << 20,
    COMMAND_SECONDS = 120,  /* a person may have to unlock a store */
    RANDOM_CHARACTERS = 24, /* of 62 each: 142 bits */
    LONGEST_PLACEHOLDER = 4096,
    LONGEST_PREFIX = 16,
};

/* --- placeholders ------------------------------------------------------------------------------------------------- */

/* Words of a few lower-case letters and digits, each with - or _ after it: "sk-", "sk-ant-api03-", "github_pat_". */
static size_t prefix_size(struct bytes value)
{
    enum { LONGEST_WORD = 6 };
    size_t size = 0;
    for (;;) {
        size_t word = 0;
        while (size + word < value.size && word <= LONGEST_WORD &&
               ((value.at[size + word] >= 'a' && value.at[size + word] <= 'z') ||
                (value.at[size + word] >= '0' && value.at[size + word] <= '9')))
            word++;
        bool is_word = word > 0 && word <= LONGEST_WORD && size + word < value.size &&
                       (value.at[size + word] == '-' || value.at[size + word] == '_') &&
                       size + word + 1 <= LONGEST_PREFIX;
        if (!is_word)
            return size;
        size += word + 1;
    }
}

/* Agents choose a header by the prefix, or refuse a key without it. */
static const char *usual_prefix(const char *name)
{
    static const struct {
        const char *name, *prefix;
    } usual[] = {{"ANTHROPIC_API_KEY", "sk-ant-api03-"},
                 {"CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-"},
                 {"OPENAI_API_KEY", "sk-"},
                 {"GH_TOKEN", "gho_"},
                 {"GITHUB_TOKEN", "gho_"}};
    for (size_t i = 0; i < array_len(usual); i++) {
        if (strcmp(name, usual[i].name) == 0)
            return usual[i].prefix;
    }
    return "";
}

int placeholder_make(struct arena *arena, const char *name, struct bytes value, const char **ret_text,
                     struct err *err)
{
    static const char characters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    enum { EVEN = 256 / 62 * 62 };
    const char *usual = usual_prefix(name);
    struct bytes prefix =
        value.size ? bytes_of(value.at, prefix_size(value)) : bytes_of(usual, strlen(usual));
    size_t size = prefix.size + RANDOM_CHARACTERS;
    if (value.size > size)
        size = value.size < LONGEST_PLACEHOLDER ? value.size : LONGEST_PLACEHOLDER;
    auto_buf struct buf text = {0};
    buf_add(&text, prefix.at, prefix.size);
    while (text.size < size) {
        unsigned char random[64];
        if (getrandom(random, sizeof(random), 0) != sizeof(random))
            return err_sys(err, errno, "cannot make a placeholder");
        for (size_t i = 0; i < sizeof(random) && text.size < size; i++) {
            if (random[i] < EVEN) /* each character is as likely as any other */
                buf_add_char(&text, characters[random[i] % 62]);
        }
    }
    *ret_text = arena_copy(arena, text.bytes, text.size);
    return 0;
}

/* --- sources ------------------------------------------------------------------------------------------------------ */

static void write_value(int fd, struct bytes value)
{
    while (value.size) {
        ssize_t written = write(fd, value.at, value.size);
        if (written <= 0)
            return;
        value = bytes_after(value, (size_t)written);
    }
}

/* The text at a place in JSON: "claudeAiOauth.accessToken". */
static struct bytes find_in_json(struct arena *arena, struct json_value value, const char *key)
{
    while (*key) {
        size_t size = strcspn(key, "."), at = 0;
        const char *name = arena_copy(arena, key, size);
        struct json_value member, inner = {0};
        bool is_found = false;
        while (!is_found && json_next_member(value, &at, &member, &inner))
            is_found = json_is(member, name);
        if (!is_found)
            return bytes_of(NULL, 0);
        value = inner;
        key += size + (key[size] == '.');
    }
    const char *text = json_text(arena, value);
    return bytes_of(text, text ? strlen(text) : 0);
}

/* The value in a line "KEY = VALUE" or "KEY: VALUE", as ini, npmrc and simple YAML have it. */
static struct bytes find_in_lines(struct bytes text, const char *key)
{
    struct bytes line;
    size_t size_of_key = strlen(key);
    while (bytes_take_line(&text, &line)) {
        while (line.size && (*line.at == ' ' || *line.at == '\t'))
            line = bytes_after(line, 1);
        if (!bytes_start_with(line, key))
            continue;
        line = bytes_after(line, size_of_key);
        while (line.size && (*line.at == ' ' || *line.at == '\t'))
            line = bytes_after(line, 1);
        if (!line.size || (*line.at != '=' && *line.at != ':'))
            continue;
        line = bytes_after(line, 1);
        while (line.size && strchr(" \t\"'", *line.at))
            line = bytes_after(line, 1);
        while (line.size && strchr(" \t\"'\r", line.at[line.size - 1]))
            line.size--;
        return line;
    }
    return bytes_of(NULL, 0);
}

static void read_file(const char *path, const char *key, int to)
{
    struct arena arena = {0};
    auto_buf struct buf text = {0};
    struct json_value json;
    struct stat status;
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
        buf_read(&text, fd, LARGEST_FILE) < 0 || !text.size)
        return;
    struct bytes all = bytes_of(text.bytes, text.size);
    if (key)
        all = json_read(text.bytes, text.size, &json) ? find_in_json(&arena, json, key)
                                                      : find_in_lines(all, key);
    write_value(to, all);
}

static void run_program(const struct outside_program *program, int to)
{
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere < 0 || dup2(nowhere, STDIN_FILENO) < 0 || dup2(to, STDOUT_FILENO) < 0 ||
        dup2(nowhere, STDERR_FILENO) < 0)
        return;
    outside_become(program);
}

static int find_keyring(const struct outside *outside, struct arena *arena, const char *attributes,
                        struct outside_program *ret_program, struct err *err)
{
    enum { MOST = 20 };
    const char *words[MOST + 3] = {"/usr/bin/secret-tool", "lookup"};
    char *rest = arena_str(arena, attributes);
    for (size_t i = 2; i < MOST && rest; i++)
        words[i] = strsep(&rest, " ");
    return outside_find(outside, arena, words, NULL, ret_program, err);
}

static const char *file_of(struct arena *arena, const struct secret_object *secret, const char *home,
                           const char *const *environment)
{
    const char *folder = text_variable(environment, "CREDENTIALS_DIRECTORY");
    if (secret->source == SECRET_CREDENTIAL)
        return folder && *folder == '/' ? path_join(arena, folder, secret->from) : NULL;
    if (secret->source != SECRET_FILE)
        return NULL;
    return text_starts_with(secret->from, "~/") ? path_join(arena, home, secret->from + 2) : secret->from;
}

/* bawn keeps this file the same inside and outside: it is not read through what the command wrote. */
static bool is_login_file(const struct plan *plan, const char *file)
{
    vec_each (const struct operation, operation, &plan->operations) {
        if (operation->is_login && operation->source && strcmp(operation->source, file) == 0)
            return true;
    }
    return false;
}

/* Finds the program of a source, and judges the program or file. A program that is not there is nothing to judge. */
static int judge_source(const struct plan *plan, struct arena *arena, const struct secret_object *secret,
                        const char *const *environment, struct outside_program *ret_program, struct err *err)
{
    const struct outside outside = outside_of_plan(plan, environment);
    struct err why = {0};
    const char *workspace = plan->policy->workspaces.count ? plan->policy->workspaces.at[0].path : NULL;
    const char *const facts[] = {workspace ? arena_printf(arena, "BAWN_WORKSPACE=%s", workspace) : NULL,
                                 NULL};
    const char *file = file_of(arena, secret, plan->policy->request.home, environment);
    int result = 0;
    *ret_program = OUTSIDE_NONE;
    if (file && !is_login_file(plan, file))
        result =
            outside_check(&outside, (const char *const[]){file, NULL}, (const char *const[]){NULL}, &why);
    else if (!file && secret->source == SECRET_COMMAND)
        result = outside_shell(&outside, arena, secret->from, facts, ret_program, &why);
    else if (secret->source == SECRET_KEYRING)
        result = find_keyring(&outside, arena, secret->from, ret_program, &why);
    if (result >= 0)
        return 0;
    err_set(err, "cannot read the secret %s: %s", secret->name, why.message);
    return err_hint(err, "%s", why.hint);
}

int secret_check(const struct secret_object *secret, const struct plan *plan, const char *const *environment,
                 struct err *err)
{
    auto_arena struct arena arena = {0};
    struct outside_program program;
    int result = judge_source(plan, &arena, secret, environment, &program, err);
    outside_close(&program);
    return result;
}

const char *secret_variable(const struct secret_object *secret, const char *const *environment)
{
    return text_variable(environment, secret->from ? secret->from : secret->name);
}

/* In the new process. It writes the value and ends. */
static void read_source(const struct secret_object *secret, const char *home, const char *const *environment,
                        const struct outside_program *program, int to)
{
    struct arena arena = {0};
    const char *value, *file;
    switch (secret->source) {
    case SECRET_ENVIRONMENT:
        value = secret_variable(secret, environment);
        write_value(to, bytes_of(value, value ? strlen(value) : 0));
        break;
    case SECRET_FILE:
    case SECRET_CREDENTIAL:
        file = file_of(&arena, secret, home, environment);
        if (file)
            read_file(file, secret->source == SECRET_FILE ? secret->key : NULL, to);
        break;
    case SECRET_COMMAND:
    case SECRET_KEYRING:
        if (program->path)
            run_program(program, to);
        break;
    case SECRET_LOGIN: /* each of its tokens is a SECRET_FILE */
        break;
    }
}

/*
 * Without namespaces orphans fall to this process, which is a subreaper there. Those of earlier calls are waited for once they have ended. They are
 * known by their session: it is not this process's, and they have not begun it.
 */
static void reap_apart(void)
{
    enum { MOST = 1024 };
    auto_vec process_list children = {0};
    children_add(&children, getpid(), MOST);
    vec_each (const pid_t, child, &children) {
        pid_t session = getsid(*child);
        if (session > 0 && session != getsid(0) && session != *child)
            waitpid(*child, NULL, WNOHANG);
    }
}

int fork_apart(void)
{
    reap_apart();
    pid_t child = fork();
    if (child == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        sigprocmask(SIG_SETMASK, &none, NULL);
        setsid();
        if (fork() == 0)
            return 0;
        _exit(0);
    }
    if (child > 0)
        waitpid(child, NULL, 0);
    return child > 0 ? 1 : -1;
}

int secret_read(const struct secret_object *secret, const struct plan *plan, const char *const *environment,
                struct err *err)
{
    auto_arena struct arena arena = {0};
    struct outside_program program;
    int pair[2];
    if (judge_source(plan, &arena, secret, environment, &program, err) < 0)
        return -1;
    if (pipe2(pair, O_CLOEXEC) < 0) {
        outside_close(&program);
        return err_sys(err, errno, "cannot read the secret %s", secret->name);
    }
    int forked = fork_apart();
    if (forked == 0) {
        close(pair[0]);
        alarm(COMMAND_SECONDS); /* counts on in a program that is executed */
        read_source(secret, plan->policy->request.home, environment, &program, pair[1]);
        _exit(0);
    }
    close(pair[1]);
    outside_close(&program);
    if (forked < 0) {
        close(pair[0]);
        return err_sys(err, errno, "cannot read the secret %s", secret->name);
    }
    return pair[0];
}
