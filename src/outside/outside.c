#include "outside/outside.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "outside/environment.h"
#include "outside/shell.h"

struct outside outside_of_plan(const struct plan *plan, const char *const *environment)
{
    return (struct outside){.environment = environment, .home = plan->policy->request.home, .plan = plan};
}

/* All that is known before a program is looked for. */
struct known {
    struct trees trees;
    struct judged_path path;
    const char *const *environment;
};

static int learn(const struct outside *outside, struct arena *arena, const char *const *facts,
                 struct known *ret_known, struct err *err)
{
    *ret_known = (struct known){0};
    if (trees_gather(outside, arena, &ret_known->trees, err) < 0)
        return -1;
    ret_known->path =
        judge_search_path(&ret_known->trees, arena, text_variable(outside->environment, "PATH"));
    ret_known->environment = environment_for(outside, &ret_known->trees, arena, &ret_known->path, facts);
    return 0;
}

static int take(const struct known *known, struct judged *judged, const char *const *words,
                struct arena *arena, struct outside_program *ret_program)
{
    size_t count = 0;
    while (words[count])
        count++;
    const char **kept = arena_alloc(arena, (count + 1) * sizeof(*kept));
    for (size_t i = 0; i < count; i++)
        kept[i] = arena_str(arena, words[i]);
    *ret_program = (struct outside_program){.fd = judged->is_script ? -1 : fd_take(&judged->fd),
                                            .path = arena_str(arena, judged->path),
                                            .words = kept,
                                            .environment = known->environment};
    fd_close(judged->fd);
    return 1;
}

static int find(const struct known *known, struct arena *arena, const char *const *words,
                struct outside_program *ret_program, struct err *err)
{
    struct judged judged = {.fd = -1};
    int found = **words == '/' ? judge_program(&known->trees, arena, &known->path, *words, &judged, err)
                               : judge_name(&known->trees, arena, &known->path, *words, &judged, err);
    return found <= 0 ? found : take(known, &judged, words, arena, ret_program);
}

int outside_find(const struct outside *outside, struct arena *arena, const char *const *words,
                 const char *const *facts, struct outside_program *ret_program, struct err *err)
{
    struct known known;
    *ret_program = OUTSIDE_NONE;
    int found =
        learn(outside, arena, facts, &known, err) < 0 ? -1 : find(&known, arena, words, ret_program, err);
    if (found == 0 && **words != '/' && judge_missing(&known.path, arena, *words, err) < 0)
        found = err_hint(err, "install %s where no run of bawn can write", *words);
    trees_free(&known.trees);
    return found;
}

int outside_shell(const struct outside *outside, struct arena *arena, const char *command,
                  const char *const *facts, struct outside_program *ret_program, struct err *err)
{
    static const char shell[] = "/bin/sh";
    const char *const words[] = {shell, "-c", command, NULL};
    struct known known;
    *ret_program = OUTSIDE_NONE;
    int found = learn(outside, arena, facts, &known, err);
    if (found == 0)
        found = shell_judge(outside, &known.trees, arena, &known.path, command, err);
    if (found == 0)
        found = find(&known, arena, words, ret_program, err);
    if (found == 0)
        err_set(err, "there is no %s", shell);
    trees_free(&known.trees);
    return found > 0 ? 0 : -1;
}

void outside_become(const struct outside_program *program)
{
    char *const *words = (char *const *)program->words, *const *environment =
                                                            (char *const *)program->environment;
    if (chdir("/") < 0 || !program->path)
        return;
    if (program->fd >= 0)
        syscall(SYS_execveat, program->fd, "", words, environment, AT_EMPTY_PATH);
    execve(program->path, words,
           environment); /* also of a format that the kernel opens again (binfmt_misc) */
}

void outside_close(struct outside_program *program)
{
    fd_close(fd_take(&program->fd));
}

int outside_check(const struct outside *outside, const char *const *files, const char *const *texts,
                  struct err *err)
{
    auto_arena struct arena arena = {0};
    auto_trees struct trees trees = {0};
    if (trees_gather(outside, &arena, &trees, err) < 0)
        return -1;
    for (; *files; files++) {
        struct judged judged = {.fd = -1};
        int found = judge_open(&trees, &arena, *files, JUDGE_FILE, &judged, err);
        fd_close(judged.fd);
        if (found < 0)
            return -1;
    }
    struct judged_path path =
        *texts ? judge_search_path(&trees, &arena, text_variable(outside->environment, "PATH"))
               : (struct judged_path){0};
    for (; *texts; texts++) {
        if (shell_judge(outside, &trees, &arena, &path, *texts, err) < 0)
            return -1;
    }
    return 0;
}
