/* Which programs and files outside could be changed from inside: by the tree that they lie in, or lead to, and by their modes. */
#include "base/fd.h"
#include "base/text.h"
#include "machine.h"
#include "outside/environment.h"
#include "outside/shell.h"
#include "unit.h"

static const char *path_of(const char *name)
{
    return arena_printf(&machine.arena, "%s%s", machine.path, name);
}

static void put_program(const char *name, const char *text)
{
    machine_put(name, text);
    chmod(path_of(name), 0755);
}

/* A workspace, a place that everybody can write, and directories of the user's. */
static struct trees make(void)
{
    struct trees trees = {0};
    machine_make();
    put_program("/ws/.venv/bin/gh", "#!/bin/sh\n");
    put_program("/ws/inside", "#!/bin/sh\n");
    put_program("/bin/gh", "#!/bin/sh\n");
    put_program("/bin/elf", "\177ELF");
    put_program("/public/gh", "#!/bin/sh\n");
    machine_put("/etc/token", "x\n");
    chmod(path_of("/etc/token"), 0600);
    trees_add(&trees, &machine.arena, path_of("/ws"), false);
    trees_add(&trees, &machine.arena, path_of("/public"), true);
    return trees;
}

static void unmake(struct trees *trees)
{
    trees_free(trees);
    machine_remove();
}

/* "found", "missing", or the reason without the machine's own path. */
static const char *text_of(int found, const struct judged *judged, const struct err *err)
{
    auto_buf struct buf text = {0};
    fd_close(judged->fd);
    if (found >= 0)
        return found ? "found" : "missing";
    for (const char *at = err->message; *at;) {
        if (text_starts_with(at, machine.path))
            at += strlen(machine.path);
        else
            buf_add_char(&text, *at++);
    }
    return arena_str(&machine.arena, buf_text(&text));
}

static const char *judge(const struct trees *trees, enum judge_kind kind, const char *name)
{
    struct judged judged;
    struct err err = {0};
    int found = judge_open(trees, &machine.arena, path_of(name), kind, &judged, &err);
    return text_of(found, &judged, &err);
}

static const char *judge_one(const struct trees *trees, const char *name)
{
    struct judged judged;
    struct err err = {0};
    struct judged_path path = judge_search_path(trees, &machine.arena, path_of("/bin"));
    int found = judge_program(trees, &machine.arena, &path, path_of(name), &judged, &err);
    return text_of(found, &judged, &err);
}

static const char *judge_command(const struct trees *trees, const char *list, const char *command)
{
    struct err err = {0};
    const char *const none[] = {arena_printf(&machine.arena, "HOME=%s", machine.path), NULL};
    const struct outside outside = {.environment = none};
    struct judged nothing = {.fd = -1};
    struct judged_path path = judge_search_path(trees, &machine.arena, list);
    int result = shell_judge(&outside, trees, &machine.arena, &path, command, &err);
    return text_of(result < 0 ? -1 : 1, &nothing, &err);
}

static const char in_workspace[] = " is not used: a run of bawn can write in /ws";

TEST(a_path_is_judged_by_each_of_its_steps)
{
    struct trees trees = make();
    machine_link("/bin/link", "../ws/inside");
    machine_link("/bin/long", "link");
    machine_link("/venv", "ws/.venv");
    machine_link("/ws/out", "../bin/gh");
    machine_link("/bin/gone", "../ws/nothing");
    machine_link("/bin/up", "../etc/../ws/../bin/gh");
    machine_link("/bin/round", "round");
    CHECK_STR(judge(&trees, JUDGE_PROGRAM, "/bin/gh"), "found");
    CHECK_STR(judge(&trees, JUDGE_PROGRAM, "/bin/none"), "missing");
    CHECK_STR(judge(&trees, JUDGE_PROGRAM, "/ws/inside"),
              arena_printf(&machine.arena, "/ws/inside%s", in_workspace));
    CHECK_STR(
        judge(&trees, JUDGE_PROGRAM, "/bin/../ws/inside"),
        arena_printf(&machine.arena,
                     "/bin/../ws/inside is not used: it leads to /ws, and a run of bawn can write in /ws"));
    CHECK(strstr(judge(&trees, JUDGE_PROGRAM, "/bin/link"), "it leads to /ws, and a run"));
    CHECK(strstr(judge(&trees, JUDGE_PROGRAM, "/bin/long"), "it leads to /ws, and a run"));
    CHECK(strstr(judge(&trees, JUDGE_PROGRAM, "/venv/bin/gh"), "it leads to /ws, and a run"));
    CHECK(strstr(judge(&trees, JUDGE_PROGRAM, "/ws/out"), in_workspace));
    CHECK(strstr(judge(&trees, JUDGE_PROGRAM, "/bin/gone"), "it leads to /ws, and a run"));
    CHECK(strstr(judge(&trees, JUDGE_PROGRAM, "/bin/up"), "it leads to /ws, and a run"));
    CHECK(strstr(judge(&trees, JUDGE_PROGRAM, "/bin/round"), "cannot follow"));
    CHECK(strstr(judge(&trees, JUDGE_FILE, "/ws/missing/file"), in_workspace));
    CHECK_STR(judge(&trees, JUDGE_FILE, "/etc/token"), "found");
    unmake(&trees);
}

TEST(a_place_that_everybody_can_write_has_no_programs_but_may_have_files)
{
    struct trees trees = make();
    machine_put("/loose/gh", "x");
    machine_put("/sticky/gh", "x");
    chmod(path_of("/loose"), 0777);
    chmod(path_of("/sticky"), 01777);
    CHECK(strstr(judge(&trees, JUDGE_PROGRAM, "/public/gh"), "everybody can write in /public"));
    CHECK_STR(judge(&trees, JUDGE_FILE, "/public/gh"), "found");
    CHECK(strstr(judge(&trees, JUDGE_PROGRAM, "/loose/gh"), "everybody can write it"));
    CHECK_STR(judge(&trees, JUDGE_PROGRAM, "/sticky/gh"), "found");
    if (geteuid() == 0 && lchown(path_of("/sticky/gh"), 12345, 12345) == 0)
        CHECK(strstr(judge(&trees, JUDGE_PROGRAM, "/sticky/gh"), "it belongs to another user"));
    chmod(path_of("/bin/gh"), 0777);
    CHECK(strstr(judge(&trees, JUDGE_PROGRAM, "/bin/gh"), "everybody can write it"));
    if (geteuid() == 0 && chown(path_of("/etc"), 0, 12345) == 0) {
        chmod(path_of("/etc"), 0775);
        CHECK(strstr(judge(&trees, JUDGE_PROGRAM, "/etc/token"), "another group can write it"));
        CHECK(chown(path_of("/etc"), 0, 50) == 0 && chmod(path_of("/etc"), 02775) == 0);
        CHECK_STR(judge(&trees, JUDGE_PROGRAM, "/etc/token"), "found");
    }
    unmake(&trees);
}

TEST(a_tree_is_the_same_by_another_path)
{
    struct trees trees = {0};
    machine_make();
    machine_put("/ws/tool", "x");
    trees_add(&trees, &machine.arena, path_of("/ws"), false);
    CHECK(rename(path_of("/ws"), path_of("/other")) == 0); /* stands for a mount at another place */
    CHECK(strstr(judge(&trees, JUDGE_PROGRAM, "/other/tool"), "can write in /ws"));
    unmake(&trees);
}

TEST(a_tree_that_is_made_later_is_known_by_its_path)
{
    struct trees trees = {0};
    machine_make();
    trees_add(&trees, &machine.arena, path_of("/later"), false);
    machine_put("/later/tool", "x");
    CHECK(strstr(judge(&trees, JUDGE_PROGRAM, "/later/tool"), "can write in /later"));
    unmake(&trees);
}

/* A run that writes a workspace and a tree. */
struct writing {
    struct policy policy;
    struct plan plan;
};

static struct writing *write_in(const char *workspace, const char *tree)
{
    struct writing *writing = arena_new(&machine.arena, struct writing);
    writing->plan.policy = &writing->policy;
    vec_push(&writing->policy.workspaces, (struct workspace){.path = workspace});
    vec_push(&writing->plan.operations, (struct operation){.kind = OP_BIND_WRITE, .path = tree});
    vec_push(&writing->plan.operations, (struct operation){.kind = OP_BIND_READ, .path = "/usr"});
    return writing;
}

/* Is it known that a run can write there? "error" with the reason if that cannot be told. */
static const char *is_known(const struct plan *plan, const char *path)
{
    const char *const environment[] = {arena_printf(&machine.arena, "HOME=%s", machine.path), NULL};
    const struct outside outside = {.environment = environment, .plan = plan};
    struct trees trees;
    struct err err = {0};
    int gathered = trees_gather(&outside, &machine.arena, &trees, &err);
    const struct written_tree *tree = gathered < 0 ? NULL : trees_find(&trees, path, NULL);
    const char *answer = gathered < 0 ? "error" : !tree ? "no" : tree->is_public ? "public" : "yes";
    trees_free(&trees);
    return answer;
}

TEST(the_trees_of_a_run_count_before_and_after_they_are_recorded)
{
    struct err err;
    machine_make();
    const char *state = path_of("/.local/state");
    struct writing *first = write_in("/w/one", "/t/a"), *second = write_in("/w/two", "/t/line\nbreak/x");
    CHECK_STR(is_known(&first->plan, "/w/one/x"), "yes");
    CHECK_STR(is_known(&first->plan, "/t/a"), "yes");
    CHECK_STR(is_known(&first->plan, "/usr/bin/x"), "no");
    CHECK_STR(is_known(NULL, "/w/one/x"), "no");
    CHECK(outside_record(state, &first->plan, &err) == 0 && outside_record(state, &first->plan, &err) == 0);
    CHECK_STR(is_known(NULL, "/w/one/x"), "yes");
    CHECK_STR(is_known(NULL, "/t/a/x"), "yes");
    CHECK_STR(is_known(NULL, "/t/b"), "no");
    CHECK(outside_record(state, &second->plan, &err) == 0);
    CHECK(outside_record_tree(state, "/given", &err) == 0);
    CHECK_STR(is_known(NULL, "/w/one/x"), "yes");
    CHECK_STR(is_known(NULL, "/t/b"), "yes"); /* the directory above a line break */
    CHECK_STR(is_known(NULL, "/given"), "yes");
    CHECK_STR(is_known(NULL, path_of("/.local/state/bawn/sessions/x/upper/gh")), "yes");
    CHECK_STR(is_known(NULL, path_of("/.local/share/bawn/x")), "yes");
    CHECK_STR(is_known(NULL, path_of("/.cache/bawn/x")), "yes");
    CHECK_STR(is_known(NULL, path_of("/.local/bin/x")), "public"); /* it lies in /tmp here */
    CHECK_STR(is_known(NULL, "/tmp/x"), "public");
    CHECK_STR(is_known(NULL, "/"), "no");
    vec_free(&first->policy.workspaces);
    vec_free(&first->plan.operations);
    vec_free(&second->policy.workspaces);
    vec_free(&second->plan.operations);
    machine_remove();
}

TEST(half_a_line_of_the_record_is_no_tree_above)
{
    struct err err;
    machine_make();
    machine_put("/.local/state/bawn/written", "/w/one\n/home/u");
    CHECK(outside_record_tree(path_of("/.local/state"), "/w/two", &err) == 0);
    CHECK_STR(is_known(NULL, "/home/u/bin/x"), "no");
    CHECK_STR(is_known(NULL, "/w/one"), "yes");
    CHECK_STR(is_known(NULL, "/w/two"), "yes");
    machine_remove();
}

TEST(a_refusal_names_the_record_of_an_earlier_run_and_a_link)
{
    struct err err = {0};
    machine_make();
    machine_put("/w/tool", "x");
    machine_put("/bin/x", "x");
    machine_link("/bin/tool", "../w/tool");
    CHECK(outside_record_tree(path_of("/.local/state"), path_of("/w"), &err) == 0);
    const char *const environment[] = {arena_printf(&machine.arena, "HOME=%s", machine.path), NULL};
    const struct outside outside = {.environment = environment};
    const char *const none[] = {NULL};
    CHECK_INT(outside_check(&outside, (const char *const[]){path_of("/w/tool"), NULL}, none, &err), -1);
    CHECK(strstr(err.hint, "put it where no run") && strstr(err.hint, path_of("/.local/state/bawn/written")));
    CHECK_INT(outside_check(&outside, (const char *const[]){path_of("/bin/tool"), NULL}, none, &err), -1);
    CHECK(strstr(err.hint, "not a link to it") && strstr(err.hint, path_of("/.local/state/bawn/written")));
    machine_remove();
}

TEST(the_record_leaves_out_what_is_known_without_it)
{
    struct err err;
    machine_make();
    const char *state = path_of("/.local/state"), *own = path_of("/.local/state/bawn/branches/x/bawn-y/x");
    CHECK(outside_record_tree(state, own, &err) == 0 && outside_record_tree(state, "/w", &err) == 0);
    auto_buf struct buf text = {0};
    auto_fd int fd = open(path_of("/.local/state/bawn/written"), O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && buf_read(&text, fd, 4096) == 0);
    CHECK_STR(buf_text(&text), "/w\n");
    CHECK_STR(is_known(NULL, path_of("/.local/state/bawn/branches/x/bawn-y/x/tool")), "yes");
    machine_remove();
}

TEST(a_record_that_cannot_be_read_is_an_error)
{
    struct err err;
    machine_make();
    machine_put("/.local/state/bawn/written", NULL);
    CHECK_STR(is_known(NULL, "/w"), "error");
    CHECK_INT(outside_record_tree(path_of("/.local/state"), "/w", &err), -1);
    machine_remove();
}

TEST(sessions_before_there_was_a_record_say_their_workspace)
{
    struct err err;
    machine_make();
    machine_put(
        "/.local/state/bawn/sessions/app-1/journal.jsonl",
        "{\"n\":1,\"at\":\"2026-01-31T12:00:00.000Z\",\"event\":\"start\",\"workspace\":\"/w/old\",\"chain\":\"x\"}\n");
    CHECK_STR(is_known(NULL, "/w/old/x"), "yes");
    CHECK(outside_record_tree(path_of("/.local/state"), "/w/new", &err) == 0);
    CHECK_STR(is_known(NULL, "/w/old/x"), "yes");
    CHECK_STR(is_known(NULL, "/w/new/x"), "yes");
    machine_remove();
}

TEST(an_interpreter_is_judged_like_the_program)
{
    struct trees trees = make();
    put_program("/bin/by-path", arena_printf(&machine.arena, "#! %s -u\n", path_of("/ws/inside")));
    put_program("/bin/by-env", "#!/usr/bin/env -S tool -x\n");
    put_program("/bin/relative", "#!ws/inside\n");
    const char *const lines[] = {"/usr/bin/env -S A=/x tool",
                                 "/usr/bin/env -S -u FOO tool",
                                 "/usr/bin/env -S sh @/ws/inside",
                                 "/bin/sh @/ws/inside",
                                 "/usr/bin/nice tool",
                                 "/usr/bin/env -S PATH=@/ws:/bin x",
                                 "/usr/bin/env -S PATH=@/more linked",
                                 "/usr/bin/env -S -C @ sh ws/inside",
                                 "/usr/bin/env -S sh -c '@/ws/inside; true'",
                                 "/usr/bin/env -S --chdir=@/ws sh x",
                                 "/usr/bin/env -Stool",
                                 "/bin/sh @/public/gh"};
    put_program("/bin/plain", "#!/bin/sh -e\n");
    machine_link("/bin/tool", "../ws/inside");
    machine_put("/more/file", "x");
    machine_link("/more/linked", "../ws/inside");
    CHECK_STR(judge_one(&trees, "/bin/plain"), "found");
    CHECK_STR(judge_one(&trees, "/bin/elf"), "found");
    CHECK_STR(judge_one(&trees, "/etc/token"), "missing");
    CHECK(strstr(judge_one(&trees, "/bin/by-path"), "of its interpreter, /ws/inside"));
    CHECK(strstr(judge_one(&trees, "/bin/by-env"), "of its interpreter, /bin/tool"));
    CHECK(strstr(judge_one(&trees, "/bin/relative"), "is not an absolute path"));
    for (size_t i = 0; i < array_len(lines); i++) {
        auto_buf struct buf line = {0};
        for (const char *at = lines[i]; *at; at++)
            buf_add_str(&line, *at == '@' ? machine.path : (const char[]){*at, '\0'});
        put_program("/bin/line", arena_printf(&machine.arena, "#!%s\n", buf_text(&line)));
        if (!CHECK(strstr(judge_one(&trees, "/bin/line"), "of its interpreter, ")))
            printf("# %s\n", lines[i]);
    }
    put_program("/bin/line", "#!/usr/bin/env -S A=/tmp python3 -X importtime --config=/etc/x --\n");
    CHECK_STR(judge_one(&trees, "/bin/line"), "found");
    unmake(&trees);
}

TEST(path_keeps_only_directories_that_no_run_writes)
{
    struct trees trees = make();
    machine_link("/alias", "ws/.venv/bin");
    const char *list = arena_printf(
        &machine.arena, ":.:node_modules/.bin:%s:%s:%s:%s:%s:%s:", path_of("/ws/.venv/bin"),
        path_of("/alias"), machine.path, path_of("/bin"), path_of("/missing"), path_of("/public"));
    struct judged_path path = judge_search_path(&trees, &machine.arena, list);
    CHECK_STR(path.text, path_of("/bin"));
    CHECK_INT(path.left_out_count, 7);
    unmake(&trees);
}

static const struct {
    const char *command, *answer;
} shell_commands[] = {
    {"gh auth token", "found"},
    {"gh auth token | tr -d x >/dev/null 2>&1", "found"},
    {"tool", "tool"},
    {"elf && tool", "tool"},
    {"X=1 exec 'tool' -v", "tool"},
    {"~/ws/inside", "/ws/inside"},
    {"\"$HOME/ws/inside\"", "/ws/inside"},
    {"python3 ~/ws/helper.py", "/ws/helper.py"},
    {"gh --config=~/ws/x", "/ws/x"},
    {"gh \"$BAWN_WORKSPACE/x\"", "found"},
    {"gh >>~/ws/log", "/ws/log"},
    {"gh >>~/public/log", "found"},
    {"~/public/gh", "/public"},
    {"sh -ec 'cd ~/ws && ./x'", "/ws"},
    {"sh -c \"exec 'tool' -v\"", "tool"},
    {"echo 'it is in ~/ws/x'", "found"},
    {"echo \"$(tool)\"", "tool"},
    {"echo `tool -v`", "tool"},
    {"x=\"a `elf; tool`\"", "tool"},
    {"echo \"$(echo $(tool))\"", "tool"},
    {"echo \"$((1 + 2)) ${X}\"", "found"},
    {"echo \"$(\"", "found"},
    {"", "found"},
    /* directories that the command changes to */
    {"cd ~ && ws/inside", "/ws/inside"},
    {"cd && ./ws/inside", "/ws/inside"},
    {"cd; sh ws/inside", "/ws/inside"},
    {"pushd ~ ; sh ws/inside", "/ws/inside"},
    {"cd -P -- ~/etc || cd ~; python3 ws", "/ws"},
    {"(cd ~/etc); cd ~/bin; sh ../ws/inside", "/ws"},
    {"cd ~/bin && cd .. && cat ws/inside", "/ws/inside"},
    {"sh -c 'cd ~; ws/inside'", "/ws/inside"},
    {"cd ~/etc && cat token >copy", "found"},
    {"cd \"$BAWN_WORKSPACE\" && make", "found"},
    /* wildcards */
    {"sh ~/w?/inside", "/ws"},
    {"sh ~/ws/ins*", "/ws"},
    {"~/[vw]s/later", "/ws"},
    {"cd ~; sh w*/inside", "/ws"},
    {"cat ~/bin/t*", "/ws"},
    {"cat --file=~/w*/x", "/ws"},
    {"cat ~/*.log ~/bin/g* ~/e*/*", "found"},
    {"cat '~/w*/x' \"[ws]\" | grep [a-z]*", "found"},
    /* homes */
    {"sh ~no-such-user/x", "~no-such-user"},
    {"sh ~+/ws/inside", "~+"},
    {"git log HEAD~1 --since=~1", "found"},
    /* lists, options, and words of which a part is known */
    {"PATH=/bin:~/ws/.venv/bin gh", "/ws"},
    {"env PATH=/bin:$HOME/ws/.venv/bin gh", "/ws"},
    {"PATH=$PATH:${HOME}/ws; gh", "/ws"},
    {"export PATH=/bin:~/public", "/public"},
    {"PATH=~/more:$PATH linked", "/more/linked"},
    {"PATH=~/bin:/usr/bin gh", "found"},
    {"make -C$HOME/ws", "/ws"},
    {"sh \"$HOME/ws/$X\"", "/ws"},
    {"echo \"/$X\" ~/bin/$X", "found"},
    /* what is executed, or read by an interpreter */
    {"sh ~/public/gh", "/public"},
    {"sh -x <~/public/gh", "/public"},
    {". ~/public/gh", "/public"},
    {"timeout -k 5 10 sh ~/public/gh", "/public"},
    {"env -u X python3 -u ~/public/gh", "/public"},
    {"cd ~/public && ./gh", "/public"},
    {"python3 ~/bin/gh ~/public/out", "found"},
    {"tar -xf ~/public/gh; cp ~/public/gh ~/bin/x", "found"},
};

TEST(the_words_of_a_shell_command_are_judged)
{
    struct trees trees = make();
    machine_link("/bin/tool", "../ws/inside");
    machine_put("/more/file", "x");
    machine_link("/more/linked", "../ws/inside");
    const char *own = path_of("/bin"),
               *both = arena_printf(&machine.arena, "%s:%s", path_of("/ws/.venv/bin"), own);
    for (size_t i = 0; i < array_len(shell_commands); i++) {
        const char *answer = judge_command(&trees, own, shell_commands[i].command);
        if (!CHECK(strstr(answer, shell_commands[i].answer)) ||
            !CHECK(!strcmp(shell_commands[i].answer, "found") || strstr(answer, "not used")))
            printf("# %s: %s\n", shell_commands[i].command, answer);
    }
    CHECK(strstr(judge_command(&trees, both, "gh auth token"), "found"));
    unlink(path_of("/bin/gh"));
    CHECK(strstr(judge_command(&trees, both, "gh auth token"), "is left out of PATH"));
    unmake(&trees);
}

TEST(the_environment_is_a_short_list)
{
    struct trees trees = make();
    const char *const given[] = {arena_printf(&machine.arena, "HOME=%s", machine.path),
                                 "LC_ALL=C",
                                 "GIT_SSH_COMMAND=x",
                                 "LD_PRELOAD=x",
                                 "PYTHONPATH=x",
                                 "NODE_OPTIONS=x",
                                 "PERL5OPT=x",
                                 "RUBYOPT=x",
                                 "BASH_ENV=x",
                                 "ENV=x",
                                 "SHELLOPTS=x",
                                 "BASH_FUNC_gh%%=() { x; }",
                                 "PATH=x",
                                 arena_printf(&machine.arena, "XDG_CONFIG_HOME=%s", path_of("/ws/x")),
                                 arena_printf(&machine.arena, "XDG_CONFIG_DIRS=/etc/xdg:%s", path_of("/ws")),
                                 arena_printf(&machine.arena, "XDG_RUNTIME_DIR=%s", path_of("/public")),
                                 "AWS_CONFIG_FILE=~/ws/cfg",
                                 "GNUPGHOME=~",
                                 "KRB5CCNAME=FILE:~/ws/cache",
                                 "XDG_X=a=~/ws",
                                 "TZ=Europe/Berlin",
                                 "VAULT_CACERT=~/etc/x",
                                 "LESS=R",
                                 NULL};
    const char *const facts[] = {"LESS=FRX", NULL};
    const struct outside outside = {.environment = given};
    const struct judged_path path = {.text = "/usr/bin"};
    const char *const *list = environment_for(&outside, &trees, &machine.arena, &path, facts);
    auto_buf struct buf names = {0};
    for (; *list; list++)
        buf_printf(&names, "%.*s ", (int)strcspn(*list, "="), *list);
    CHECK_STR(buf_text(&names), "HOME LC_ALL XDG_RUNTIME_DIR GNUPGHOME TZ VAULT_CACERT PATH LESS ");
    unmake(&trees);
}

/* The tree by which the command can write the path: "no" where it cannot. */
static const char *written_by(enum foundation on, struct operation part, const char *path)
{
    struct operation all[] = {
        {.kind = OP_BIND_WRITE, .path = "/t/deep/er"}, {.kind = OP_BIND_WRITE, .path = "/t"}, part};
    const struct operations operations = {.at = all, .count = array_len(all), .on = on};
    const struct operation *tree = operations_written(&operations, path);
    return tree ? tree->path : "no";
}

TEST(a_path_is_written_by_the_deepest_live_tree_unless_a_part_is_kept)
{
    const struct operation none = {.kind = OP_HOME, .path = "/"},
                           freeze = {.kind = OP_FREEZE, .path = "/t/deep"},
                           missing = {.kind = OP_FREEZE, .path = "/t/deep", .missing = true},
                           pattern = {.kind = OP_FREEZE, .path = "/t/deep", .is_pattern = true},
                           read = {.kind = OP_BIND_READ, .path = "/t/deep"},
                           aside = {.kind = OP_BIND_WRITE, .path = "/t/deep", .overlay = "/x"},
                           copy = {.kind = OP_BIND_WRITE, .path = "/t/deep", .source = "/x"};
    CHECK_STR(written_by(ON_NAMESPACES, none, "/t/bin/x"), "/t");
    CHECK_STR(written_by(ON_NAMESPACES, none, "/t"), "/t");
    CHECK_STR(written_by(ON_NAMESPACES, none, "/tt"), "no");
    CHECK_STR(written_by(ON_NAMESPACES, none, "/t/deep/er/x"), "/t/deep/er");
    CHECK_STR(written_by(ON_NAMESPACES, freeze, "/t/deep/x"), "no");
    CHECK_STR(written_by(ON_NAMESPACES, freeze, "/t/x"), "/t");
    CHECK_STR(written_by(ON_NAMESPACES, freeze, "/t/deep/er/x"),
              "/t/deep/er"); /* granted within what is kept */
    CHECK_STR(written_by(ON_NAMESPACES, missing, "/t/deep/x"), "/t");
    CHECK_STR(written_by(ON_NAMESPACES, pattern, "/t/deep/x"), "/t");
    CHECK_STR(written_by(ON_NAMESPACES, read, "/t/deep/x"), "no");
    CHECK_STR(written_by(ON_NAMESPACES, aside, "/t/deep/x"), "no");
    CHECK_STR(written_by(ON_LANDLOCK, freeze, "/t/deep/x"), "no");
    CHECK_STR(written_by(ON_LANDLOCK, read, "/t/deep/x"),
              "/t"); /* Landlock makes no exception within a tree */
    CHECK_STR(written_by(ON_LANDLOCK, copy, "/t/deep/x"), "/t");
}

UNIT_MAIN()
