#include "git/command.h"
#include "git/config.h"
#include "git/repo.h"
#include "git/trail.h"

#include "machine.h"
#include "unit.h"

/* --- the words of a command ------------------------------------------------------------------------------------------------- */

/* The words, with "!" where one stands for a command and "+" where a missing file counts too. */
static const char *words_of(const char *command)
{
    git_words words = {0};
    const char *text = "";
    git_command_words(&machine.arena, command, &words);
    vec_each (const struct git_word, word, &words)
        text = arena_printf(&machine.arena, "%s%s%s%s%s%s", text, *text ? " | " : "",
                            word->key ? word->key : "", word->key ? "=" : "", word->text,
                            word->is_command    ? (word->may_be_made ? "!+" : "!")
                            : word->may_be_made ? "+"
                                                : "");
    vec_free(&words);
    return text;
}

TEST(words_of_a_command)
{
    CHECK_STR(words_of(""), "");
    CHECK_STR(words_of("less -S"), "less!");
    CHECK_STR(words_of("tool/x --now %f"), "tool/x!+ | %f");
    CHECK_STR(words_of("python3 -u scripts/f.py a b/c"), "python3! | scripts/f.py+ | a | b/c");
    CHECK_STR(words_of("sh filter.sh"), "sh! | filter.sh+");
    CHECK_STR(words_of("git log origin/main x"), "git! | origin/main");
    CHECK_STR(words_of("A=b/c ./x;y|(z/z)"), "b/c+ | ./x!+ | y! | z/z!+");
    CHECK_STR(words_of("x --file=a/b"), "x! | a/b+");
    CHECK_STR(words_of("'a b'/c \"d\\\"e\" f\\ g"), "a! | b/c+ | a b/c! | d\"e | f! | g | f g");
    CHECK_STR(words_of("x <in >out 2>&1"), "x! | in | out | 2 | 1!");
    machine.arena = (arena_free(&machine.arena), (struct arena){0});
}

TEST(commands_in_commands)
{
    CHECK_STR(words_of("sh -c 'exec tool/x \"$@\"'"), "sh! | exec! | tool/x!+ |  | exec tool/x \"$@\"");
    CHECK_STR(words_of("f() { ./a \"$1\"; }; f"), "f! | {! | ./a!+ |  | }! | f!");
    CHECK_STR(words_of("if true; then exec a/b; fi"), "if! | true! | then! | exec! | a/b!+ | fi!");
    CHECK_STR(words_of("$(which x) `a/b`"), "which! | x | ! | a/b!+ | ");
    machine.arena = (arena_free(&machine.arena), (struct arena){0});
}

TEST(variables_in_a_command)
{
    CHECK_STR(words_of("$PWD/x \"${PWD}\"/y"), "./x!+ | ./y+");
    CHECK_STR(words_of("$HOME/x ~/y"), "~/x!+ | ~/y+");
    CHECK_STR(words_of("\"$(git rev-parse --show-toplevel)\"/a/b"), "./a/b!+");
    CHECK_STR(words_of("$UNKNOWN/a/b"), "a/b!");
    CHECK_STR(words_of("a/$X/b"), "b!");
    CHECK_STR(words_of("$"), "!");
    CHECK_STR(words_of("${"), "!");
    CHECK_STR(words_of("\"$("), "!");
    machine.arena = (arena_free(&machine.arena), (struct arena){0});
}

TEST(settings_that_a_command_gives_to_git)
{
    CHECK_STR(words_of("git -c a.b=c commit"), "git! | a.b=c");
    CHECK_STR(words_of("git -c 'a.b.c=d/e f' -c x.y log -c z"),
              "git! | a.b.c=d/e! | f | a.b.c=d/e f | a.b.c=d/e f");
    CHECK_STR(words_of("git -c core.hooksPath=$PWD/h -c x.y=\"$HOME/h\""),
              "git! | core.hooksPath=./h | core.hooksPath=./h | x.y=~/h | x.y=~/h");
    CHECK_STR(words_of("V=h git --config-env=a.b=V --config-env c.d=W"), "h | git! | a.b=V | a.b=h | =c.d");
    CHECK_STR(words_of("git clone -ca.b=c --config=d.e=f"), "git! | c | a.b=c | d.e=f | d.e=f");
    CHECK_STR(words_of("git commit; x -c a.b=c"), "git! | x! | a.b=c");
    machine.arena = (arena_free(&machine.arena), (struct arena){0});
}

TEST(paths_that_are_glued_to_options)
{
    CHECK_STR(words_of("ssh -F.sshc h"), "ssh! | .sshc+ | h");
    CHECK_STR(words_of("ssh -F .sshc h"), "ssh! | .sshc+ | h");
    CHECK_STR(words_of("vim -utools/vimrc -RF"), "vim! | tools/vimrc+");
    CHECK_STR(words_of("make -Ctools -fx.mk"), "make! | x.mk+ | tools/x.mk+");
    CHECK_STR(words_of("make -C tools -f x.mk"), "make! | tools | x.mk | tools/x.mk");
    CHECK_STR(words_of("git log -Sword -Gtools/x"), "git! | tools/x");
    machine.arena = (arena_free(&machine.arena), (struct arena){0});
}

/* --- where a path leads ----------------------------------------------------------------------------------------------------- */

static const char *trail_of(const char *from, const char *path)
{
    struct git_trail trail;
    const char *text = "";
    git_trail_follow(&machine.fs, from, path, &trail);
    for (size_t i = 0; i < trail.links.count && i < 5; i++)
        text = arena_printf(&machine.arena, "%s%s > ", text, trail.links.at[i]);
    text = arena_printf(&machine.arena, "%s%s%s", text, trail.end,
                        trail.kind == FILE_MISSING ? " (missing)"
                        : trail.kind == FILE_LINK  ? " (link)"
                                                   : "");
    vec_free(&trail.links);
    return text;
}

TEST(a_path_and_its_links)
{
    machine_make();
    machine_put("/w/real/deep/x", "");
    machine_link("/w/d", "real/deep");
    machine_link("/w/one", "d/x");
    machine_link("/w/two", "/w/one");
    machine_link("/w/out", "/etc/none");
    machine_link("/w/gone", "a/b/c");
    machine_link("/w/a", "a");
    machine_link("/w/b", "c");
    machine_link("/w/c", "b");
    CHECK_STR(trail_of("/w", "real/deep/x"), "/w/real/deep/x");
    CHECK_STR(trail_of("/w", "./real//deep/./x"), "/w/real/deep/x");
    CHECK_STR(trail_of("/w", "two"), "/w/two > /w/one > /w/d > /w/real/deep/x");
    CHECK_STR(trail_of("/w", "d/../x"), "/w/d > /w/real/x (missing)");
    CHECK_STR(trail_of("/w", "d/../deep/x"), "/w/d > /w/real/deep/x");
    CHECK_STR(trail_of("/w", "out"), "/w/out > /etc/none (missing)");
    CHECK_STR(trail_of("/w", "b"), trail_of("/", "/w/b"));
    CHECK(strstr(trail_of("/w", "b"), "/w/b > /w/c > /w/b > "));
    CHECK_STR(trail_of("/w", "../../../w/real"), "/w/real");
    CHECK_STR(trail_of("/w", ""), "/w");
    machine_remove();
}

/* --- what a repository leads to --------------------------------------------------------------------------------------------- */

static void add_all(const git_obeyed_list *leads, const char *mark, const char **text)
{
    vec_each (const struct git_obeyed, lead, leads)
        *text = arena_printf(&machine.arena, "%s%s%s%s (%s)", *text, **text ? "\n" : "", mark, lead->path + 3,
                             lead->because ? lead->because : "");
}

/* "frozen: " or "flagged: ", the path below /r, and what leads there. */
static const char *led(const char *config)
{
    struct git_repo repo;
    const struct git_user user = {"/home/u", "/home/u/.config"};
    const char *text = "";
    fs_free(&machine.fs);
    machine.fs.places = (struct map){0};
    machine_put("/r/.git/HEAD", "ref: refs/heads/main\n");
    machine_put("/r/.git/config", config);
    git_find(&machine.fs, "/r", &user, &repo);
    add_all(&repo.whole, "frozen: ", &text);
    add_all(&repo.flagged, "flagged: ", &text);
    for (size_t i = 0; i < repo.unfollowed.count; i++)
        text = arena_printf(&machine.arena, "%s%snot followed: %s", text, *text ? "\n" : "",
                            repo.unfollowed.at[i]);
    git_repo_free(&repo);
    return text;
}

TEST(a_hook_that_is_a_link)
{
    machine_make();
    machine_put("/r/scripts/pc", "");
    machine_put("/r/.git/hooks/post-commit", "");
    machine_link("/r/.git/hooks/pre-commit", "../../scripts/pc");
    CHECK_STR(led(""), "frozen: scripts/pc (.git/hooks/pre-commit)");
    machine_link("/r/.git/hooks/pre-push", "../../chain");
    machine_link("/r/chain", "later/made");
    CHECK_STR(led(""), "frozen: scripts/pc (.git/hooks/pre-commit)\nfrozen: chain (.git/hooks/pre-push)\n"
                       "flagged: later/made (.git/hooks/pre-push)");
    machine_remove();
}

TEST(a_top_of_a_work_tree_that_is_the_folder_of_hooks)
{
    machine_make();
    machine_put("/r/.git/HEAD", "");
    machine_put("/r/pre-commit", "");
    machine_put("/r/other", "");
    machine_link("/r/.git/hooks", "..");
    const char *text = led("");
    CHECK(strstr(text, "frozen: pre-commit (.git/hooks)"));
    CHECK(strstr(text, "flagged: pre-push (.git/hooks)"));
    CHECK(strstr(text, "flagged: fsmonitor-watchman (.git/hooks)"));
    CHECK(!strstr(text, "other"));
    machine_remove();
}

TEST(programs_of_settings)
{
    machine_make();
    machine_put("/r/tool/a", "");
    machine_put("/r/tool/b c", "");
    machine_put("/r/log", ""); /* no program of git's: it only has the name of a subcommand */
    machine_put("/r/.git/x", "");
    CHECK_STR(led("[filter \"f\"]\n\tclean = tool/a %f\n\tsmudge = cat\n"),
              "frozen: tool/a (filter.f.clean in .git/config)");
    CHECK_STR(led("[core]\n\teditor = \"tool/b c\"\n"),
              "frozen: tool/b c (core.editor in .git/config)\nflagged: tool/b (core.editor in .git/config)");
    CHECK_STR(led("[alias]\n\tx = !tool/a\n\ty = log tool/none\n"),
              "frozen: tool/a (alias.x in .git/config)");
    CHECK_STR(led("[core]\n\tpager = ./none | less\n"), "flagged: none (core.pager in .git/config)");
    CHECK_STR(led("[core]\n\tworktree = tool/a\n[url \"tool/a\"]\n\tinsteadOf = tool/a\n"), "");
    CHECK_STR(led("[remote \"o\"]\n\turl = ext::tool/a %S\n"),
              "frozen: tool/a (remote.o.url in .git/config)");
    CHECK_STR(led("[remote \"o\"]\n\turl = tool/a\n"), "");
    CHECK_STR(led("[diff]\n\texternal = tool\n"), ""); /* a directory is no program */
    CHECK_STR(
        led("[submodule \"s\"]\n\tupdate = !./up\n"),
        "flagged: s/up (submodule.s.update in .git/config)\nflagged: up (submodule.s.update in .git/config)");
    machine_remove();
}

TEST(settings_of_the_user_and_of_files_that_are_included)
{
    machine_make();
    machine_put("/r/tool/a", "");
    machine_put("/r/more", "[core]\n\tpager = tool/a\n");
    machine_put("/home/u/.gitconfig", "[core]\n\tsshCommand = tool/a\n");
    CHECK_STR(led(""), "frozen: tool/a (core.sshcommand in /home/u/.gitconfig)");
    CHECK_STR(led("[include]\n\tpath = ../more\n"),
              "frozen: more (include.path in .git/config)\nfrozen: tool/a (core.pager in more)");
    machine_link("/r/way", "more");
    CHECK_STR(led("[include]\n\tpath = ../way\n"),
              "frozen: way (include.path in .git/config)\nfrozen: more (include.path in "
              ".git/config)\nfrozen: tool/a (core.pager in way)");
    machine_remove();
}

TEST(homes_of_accounts)
{
    machine_make();
    machine_put("/r/gh/pre-commit", "");
    CHECK_STR(led("[core]\n\thooksPath = ~ann/gh\n"), "not followed: core.hookspath in .git/config");
    machine_put("/etc/passwd",
                "annx:x:1:1::/x:\nann:x:1:1:Ann:/r:/bin/sh\nann:x:2:2::/y:\nbob:x\nu2:::::rel:\n");
    CHECK_STR(led("[core]\n\thooksPath = ~ann/gh\n"), "frozen: gh (core.hookspath in .git/config)");
    CHECK_STR(led("[core]\n\thooksPath = :(optional)~ann//gh\n"),
              "frozen: gh (core.hookspath in .git/config)");
    CHECK_STR(led("[include]\n\tpath = ~an/gh\n"), "not followed: include.path in .git/config");
    CHECK_STR(led("[core]\n\thooksPath = ~bob/gh\n\teditor = ~u2/gh/x\n\tpager = ~u2\n"),
              "not followed: core.hookspath in .git/config\nnot followed: core.editor in .git/config");
    CHECK_STR(led("[core]\n\tattributesFile = %(prefix)/gh\n"),
              "not followed: core.attributesfile in .git/config");
    CHECK_STR(led("[core]\n\thooksPath = ~u/../../r/gh\n"), "frozen: gh (core.hookspath in .git/config)");
    CHECK_STR(led("[core]\n\teditor = ~ann/gh/pre-commit\n"),
              "frozen: gh/pre-commit (core.editor in .git/config)");
    CHECK_STR(led("[core]\n\thooksPath =\n"), "");
    machine_remove();
}

TEST(settings_in_the_commands_of_settings)
{
    machine_make();
    machine_put("/r/gh/pre-commit", "");
    CHECK_STR(led("[alias]\n\tci = -c core.hooksPath=gh commit\n"),
              "frozen: gh (core.hookspath of alias.ci in .git/config)");
    CHECK_STR(led("[alias]\n\tci = !X=gh git --config-env=CORE.hooksPath=X commit\n"),
              "frozen: gh (core.hookspath of alias.ci in .git/config)");
    CHECK_STR(led("[alias]\n\tci = !git --config-env=core.hooksPath=X -c user.name=gh commit\n"),
              "not followed: core.hookspath of alias.ci in .git/config");
    CHECK_STR(led("[alias]\n\td = \"!git -c 'diff.d.command=gh/pre-commit -x' diff\"\n"),
              "frozen: gh/pre-commit (diff.d.command of alias.d in .git/config)");
    CHECK(strstr(led("[alias]\n\ta = \"-c alias.b='-c alias.c=!none/x c' b\"\n"), "flagged: none/x ("));
    machine_remove();
}

UNIT_MAIN()
