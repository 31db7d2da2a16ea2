/* Proposals from wants: what is folded, what is never proposed, and that a wide grant says how wide it is. */
#include "unit.h"

#include "machine.h"

#include "base/path.h"
#include "learn/learn.h"
#include "policy/builtin.h"

static struct {
    struct diags diags;
    struct policy policy;
    struct wants wants;
    struct learnt learnt;
} here;

static void begin(void)
{
    machine_make();
    machine_put("/home/u/app/.git/HEAD", "ref: refs/heads/main\n");
    machine_put("/home/u/.ssh/id_ed25519", "key");
    machine_put("/usr", NULL);
}

static void want_of(enum want_kind kind, const char *object, enum want_ending ending)
{
    struct want *want = wants_note(&here.wants, kind, object, 0, "app");
    want_note_ending(want, ending);
}

static void conclude(void)
{
    static const char *const environment[] = {"HOME=/home/u", "PATH=/home/u/bin:/usr/bin", NULL};
    static const char *const command[] = {"sh", NULL};
    here.diags.arena = &machine.arena;
    struct policy_request request = {
        .fs = &machine.fs,
        .home = "/home/u",
        .home_spelled = "/home/u",
        .directory = "/home/u/app",
        .starts = {[START_HOME] = "/home/u",
                   [START_CONFIG] = "/home/u/.config",
                   [START_DATA] = "/home/u/.local/share",
                   [START_STATE] = "/home/u/.local/state",
                   [START_CACHE] = "/home/u/.cache"},
        .command = command,
        .environment = environment,
    };
    policy_compose(&request, &machine.arena, &here.policy, &here.diags);
    CHECK_INT(here.diags.errors, 0);
    struct profile_finder finder = {.fs = &machine.fs, .admin_directory = "/etc/bawn/profiles"};
    learn(&here.policy, &finder, &here.wants, &here.learnt);
}

static void end(void)
{
    learnt_free(&here.learnt);
    wants_free(&here.wants);
    policy_free(&here.policy);
    diags_free(&here.diags);
    memset(&here, 0, sizeof(here));
    machine_remove();
}

/* "needed read ~/x; probe read ~/y": one line for a comparison. */
static const char *conclusion(void)
{
    auto_buf struct buf out = {0};
    vec_each (const struct proposal, proposal, &here.learnt.list)
        buf_printf(&out, "%s%s %s", out.size ? "; " : "", proposal_class_name(proposal->class),
                   proposal->line ? proposal->line : proposal->object);
    return arena_str(&machine.arena, buf_text(&out));
}

static const char *gives(size_t index)
{
    return index < here.learnt.list.count ? here.learnt.list.at[index].gives : "";
}

static void put_many(const char *folder, int count)
{
    char path[256];
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "%s/%d", folder, i);
        machine_put(path, "x");
    }
}

static void want_many(const char *folder, int count)
{
    char path[256];
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "%s/%d", folder, i);
        want_of(WANT_READ, path, WANT_FAILED);
    }
}

TEST(a_file_that_a_program_failed_without_is_needed)
{
    begin();
    machine_put("/srv/data/a b", "x");
    machine_put("/home/u/.config/app/config.json", "x");
    want_of(WANT_READ, "/srv/data/a b", WANT_FAILED);
    want_of(WANT_READ, "/home/u/.config/app/config.json", WANT_FAILED);
    conclude();
    CHECK_STR(conclusion(), "needed read ~/.config/app/config.json; needed read /srv/data/a\\ b");
    CHECK_STR(gives(0), "the command can read and run this file");
    end();
}

TEST(what_is_written_is_proposed_for_writing_and_covers_the_reading)
{
    begin();
    machine_put("/srv/data/log", "x");
    want_of(WANT_READ, "/srv/data/log", WANT_FAILED);
    want_of(WANT_WRITE, "/srv/data/log", WANT_FAILED);
    conclude();
    CHECK_STR(conclusion(), "needed write /srv/data/log");
    end();
}

TEST(a_database_is_proposed_with_its_directory_because_files_are_made_beside_it)
{
    begin();
    machine_put("/srv/data/app.db", "x");
    want_of(WANT_WRITE, "/srv/data/app.db", WANT_FAILED);
    conclude();
    CHECK_STR(conclusion(), "needed write /srv/data/");
    end();
}

TEST(a_file_that_would_be_made_needs_the_directory_that_exists)
{
    begin();
    machine_put("/srv/out", NULL);
    want_of(WANT_MAKE, "/srv/out/new/file", WANT_FAILED);
    conclude();
    CHECK_STR(conclusion(), "needed write /srv/out/");
    end();
}

TEST(what_programs_went_on_without_and_what_was_only_looked_for_stand_apart)
{
    begin();
    machine_put("/srv/a", "x");
    machine_put("/srv/b", "x");
    want_of(WANT_READ, "/srv/a", WANT_WENT_ON);
    want_of(WANT_LOOK, "/srv/b", WANT_WENT_ON);
    conclude();
    CHECK_STR(conclusion(), "went-on read /srv/a; probe read /srv/b");
    end();
}

TEST(a_sealed_path_is_listed_with_its_rule_and_never_proposed)
{
    begin();
    want_of(WANT_READ, "/home/u/.ssh/id_ed25519", WANT_FAILED);
    want_of(WANT_READ, "/home/u/x/../.ssh/id_ed25519", WANT_FAILED);
    conclude();
    CHECK_INT(learnt_count(&here.learnt, PROPOSAL_NEVER), here.learnt.list.count);
    CHECK(here.learnt.list.count && strstr(gives(0), "sealed by base.bawn:"));
    end();
}

TEST(many_files_of_a_directory_become_the_directory_with_its_width)
{
    begin();
    put_many("/srv/data/set", 10);
    want_many("/srv/data/set", 10);
    conclude();
    CHECK_STR(conclusion(), "needed read /srv/data/set/");
    CHECK_STR(gives(0),
              "the command can read and run all of this directory: 10 files, of which the run wanted 10");
    end();
}

TEST(touching_a_few_of_many_siblings_gets_a_wide_proposal_that_says_so)
{
    begin();
    put_many("/srv/data/set", 300);
    want_many("/srv/data/set", 5);
    conclude();
    CHECK_STR(conclusion(), "wide read /srv/data/set/");
    CHECK_STR(gives(0),
              "the command can read and run all of this directory: 300 files, of which the run wanted 5");
    end();
}

TEST(listing_a_large_directory_once_is_wide_too)
{
    begin();
    put_many("/srv/data/set", 300);
    want_of(WANT_READ, "/srv/data/set", WANT_FAILED);
    conclude();
    CHECK_STR(conclusion(), "wide read /srv/data/set/");
    end();
}

TEST(siblings_of_the_home_or_the_workspace_are_never_folded_into_it)
{
    begin();
    put_many("/home/u", 6);
    want_many("/home/u", 6);
    conclude();
    CHECK_INT(here.learnt.list.count, 6);
    CHECK_STR(here.learnt.list.at[0].line, "read ~/0");
    end();
    begin();
    want_of(WANT_READ, "/home/u", WANT_FAILED);
    want_of(WANT_READ, "/home", WANT_FAILED);
    want_of(WANT_WRITE, "/home/u/.config", WANT_FAILED);
    machine_put("/home/u/.config/x", "x");
    conclude();
    CHECK_INT(learnt_count(&here.learnt, PROPOSAL_NEVER), here.learnt.list.count);
    CHECK_INT(here.learnt.list.count, 3);
    end();
}

TEST(a_link_that_the_command_can_change_is_never_proposed)
{
    begin();
    machine_put("/srv/secret/file", "x");
    machine_link("/home/u/app/lookalike", "/srv/secret");
    want_of(WANT_READ, "/home/u/app/lookalike/file", WANT_FAILED);
    conclude();
    CHECK_INT(learnt_count(&here.learnt, PROPOSAL_NEVER), 1);
    CHECK_STR(gives(0), "leads to /srv/secret/file through a symlink that the command can change: "
                        "/home/u/app/lookalike");
    end();
}

TEST(a_link_of_the_users_into_a_sealed_place_is_judged_by_where_it_leads)
{
    begin();
    machine_put("/srv/x", "x");
    machine_link("/srv/keys", "/home/u/.ssh");
    want_of(WANT_READ, "/srv/keys/id_ed25519", WANT_FAILED);
    conclude();
    CHECK_INT(learnt_count(&here.learnt, PROPOSAL_NEVER), 1);
    end();
}

TEST(writing_where_programs_outside_would_run_it_is_never_proposed)
{
    begin();
    machine_put("/home/u/bin/tool", "x");
    machine_put("/home/u/.bashrc", "x");
    want_of(WANT_WRITE, "/home/u/bin/tool", WANT_FAILED);
    want_of(WANT_WRITE, "/home/u/.bashrc", WANT_FAILED);
    conclude();
    CHECK_INT(learnt_count(&here.learnt, PROPOSAL_NEVER), 2);
    end();
}

/* --- what programs outside run or obey -------------------------------------------------------------------------------- */

/* A path that the pattern matches, in /home/u or /home/u/other; NULL for one that starts elsewhere. */
static const char *made_of(const struct rule *rule)
{
    static const char *const starts[START_COUNT] = {
        [START_ROOT] = "",
        [START_RELATIVE] = "/home/u/other",
        [START_HOME] = "/home/u",
        [START_CONFIG] = "/home/u/.config",
        [START_DATA] = "/home/u/.local/share",
        [START_STATE] = "/home/u/.local/state",
        [START_CACHE] = "/home/u/.cache",
    };
    auto_buf struct buf path = {0};
    if (!starts[rule->path.start])
        return NULL;
    buf_printf(&path, "%s/", starts[rule->path.start]);
    for (const char *at = rule->path.pattern; *at; at++) {
        if (strncmp(at, "**", 2) == 0)
            buf_add_str(&path, "deep"), at++;
        else if (*at == '\\')
            buf_add_char(&path, *++at);
        else
            buf_add_char(&path, *at == '*' || *at == '?' ? 'x' : *at);
    }
    return arena_printf(&machine.arena, "%s%s", buf_text(&path), rule->path.is_directory ? "/in/it" : "");
}

/* Can a file be put there? Not where another rule names a file on the way, or a directory at its place. */
static bool has_room(const char *path)
{
    struct stat status;
    for (const char *at = path; *at; at = path_parent(&machine.arena, at)) {
        if (stat(arena_printf(&machine.arena, "%s%s", machine.path, at), &status) == 0)
            return at != path && S_ISDIR(status.st_mode);
    }
    return true;
}

/* Puts a file at each place of the verb that a shipped profile names, and wants to write it. */
static int want_places_of(enum verb verb)
{
    int count = 0;
    for (size_t i = 0; i < builtin_profile_count; i++) {
        const struct source source = {.name = "shipped", .builtin = &builtin_profiles[i]};
        for (size_t j = 0; j < builtin_profiles[i].rule_count; j++) {
            const struct rule rule = builtin_rule_of(&source, &builtin_profiles[i].rules[j]);
            const char *path = rule.verb == verb ? made_of(&rule) : NULL;
            if (!path || !has_room(path))
                continue;
            machine_put(path, "x");
            want_of(WANT_WRITE, path, WANT_FAILED);
            count++;
        }
    }
    return count;
}

/* The first path that a line lets the command write, and was not expected; NULL: none. */
static const char *written_but(const char *expected)
{
    vec_each (const struct proposal, proposal, &here.learnt.list) {
        if (proposal->line && proposal->verb == VERB_WRITE && strcmp(proposal->line, expected) != 0)
            return proposal->line;
    }
    return NULL;
}

TEST(what_a_shipped_profile_seals_or_flags_is_never_proposed_for_writing)
{
    static const enum verb verbs[] = {VERB_SEAL, VERB_FLAG, VERB_READ, VERB_SEED};
    static const int least[] = {400, 200, 200, 15};
    for (size_t i = 0; i < array_len(verbs); i++) {
        begin();
        machine_put("/home/u/other/notes.txt", "x");
        want_of(WANT_WRITE, "/home/u/other/notes.txt", WANT_FAILED);
        int count = want_places_of(verbs[i]);
        CHECK(count >= least[i]);
        conclude();
        CHECK_STR(written_but("write ~/other/notes.txt"), NULL);
        CHECK_INT(learnt_count(&here.learnt, PROPOSAL_NEEDED), 1);
        end();
    }
}

TEST(what_programs_outside_obey_is_listed_with_the_reason_and_an_ordinary_file_beside_it_is_proposed)
{
    static const struct {
        const char *obeyed, *ordinary, *why;
    } pairs[] = {
        {"/home/u/.vim/vimrc", "/home/u/.vimnotes", "programs outside obey it (base.bawn:"},
        {"/home/u/.config/nvim/init.lua", "/home/u/.config/notes.lua",
         "programs outside obey it (base.bawn:"},
        {"/home/u/.emacs.d/init.el", "/home/u/.emacsnotes", "programs outside obey it (base.bawn:"},
        {"/home/u/.cargo/config.toml", "/home/u/.cargo/notes.toml", "programs outside obey it (base.bawn:"},
        {"/home/u/.local/lib/python3/site-packages/x.pth", "/home/u/.local/x.pth",
         "programs outside obey it (base.bawn:"},
        {"/home/u/.local/bin/tool", "/home/u/.local/tool",
         "programs that you run outside use it (base.bawn:"},
        {"/home/u/.npm-global/bin/tool", "/home/u/.npm-local/tool",
         "programs that you run outside use it (toolchain/node.bawn:"},
        {"/home/u/.pyenv/versions/3/bin/python", "/home/u/.pyvenv/x",
         "programs that you run outside use it (toolchain/python.bawn:"},
        {"/home/u/lib/Makefile", "/home/u/lib/makefile.txt",
         "it could run on your machine: runs when you call make"},
        {"/home/u/lib/.git/hooks/pre-commit", "/home/u/lib/pre-commit",
         "it could run on your machine: git runs its hooks"},
        {"/home/u/lib/.vscode/tasks.json", "/home/u/lib/tasks.json", "programs outside obey it (base.bawn:"},
        {"/home/u/lib/.bawn", "/home/u/lib/bawn", "no command may change it (base.bawn:"},
    };
    for (size_t i = 0; i < array_len(pairs); i++) {
        begin();
        machine_put(pairs[i].obeyed, "x");
        machine_put(pairs[i].ordinary, "x");
        want_of(WANT_WRITE, pairs[i].obeyed, WANT_FAILED);
        want_of(WANT_WRITE, pairs[i].ordinary, WANT_FAILED);
        conclude();
        const char *home = "/home/u";
        CHECK_STR(conclusion(), arena_printf(&machine.arena, "needed write ~%s; not-proposed %s",
                                             pairs[i].ordinary + strlen(home), pairs[i].obeyed));
        CHECK(strncmp(gives(1), pairs[i].why, strlen(pairs[i].why)) == 0);
        CHECK_STR(here.learnt.list.at[1].by_hand,
                  arena_printf(&machine.arena, "write ~%s", pairs[i].obeyed + strlen(home)));
        end();
    }
}

TEST(a_file_that_does_not_exist_yet_is_judged_by_its_own_name)
{
    begin();
    machine_put("/home/u/lib/x", "x");
    want_of(WANT_MAKE, "/home/u/lib/Makefile", WANT_FAILED);
    want_of(WANT_MAKE, "/home/u/lib/new/.vscode/tasks.json", WANT_FAILED);
    conclude();
    CHECK_STR(conclusion(),
              "not-proposed /home/u/lib/Makefile; not-proposed /home/u/lib/new/.vscode/tasks.json");
    end();
    begin();
    machine_put("/home/u/lib/x", "x");
    want_of(WANT_MAKE, "/home/u/lib/new/tasks.json", WANT_FAILED);
    conclude();
    CHECK_STR(conclusion(), "needed write ~/lib/");
    end();
}

TEST(a_directory_is_not_proposed_for_writing_if_something_in_it_is_obeyed_outside)
{
    begin();
    put_many("/srv/lib", 6);
    machine_put("/srv/lib/deep/er/.envrc", "x");
    put_many("/srv/data", 6);
    machine_put("/srv/data/deep/er/envrc", "x");
    want_of(WANT_WRITE, "/srv/lib", WANT_FAILED);
    want_of(WANT_WRITE, "/srv/data", WANT_FAILED);
    conclude();
    CHECK_STR(conclusion(), "needed write /srv/data/; not-proposed /srv/lib");
    CHECK(strncmp(gives(1), "/srv/lib/deep/er/.envrc lies in it: programs outside obey it", 60) == 0);
    end();
    /* Nor in the place of its files. */
    begin();
    put_many("/srv/lib", 6);
    machine_put("/srv/lib/Makefile", "x");
    for (int i = 0; i < 6; i++)
        want_of(WANT_WRITE, arena_printf(&machine.arena, "/srv/lib/%d", i), WANT_FAILED);
    conclude();
    CHECK_INT(here.learnt.list.count, 6);
    CHECK_STR(here.learnt.list.at[0].line, "write /srv/lib/0");
    end();
    /* Nor if it is only missing, in a place that is known. */
    begin();
    machine_put("/home/u/.local/notes", "x");
    want_of(WANT_WRITE, "/home/u/.local", WANT_FAILED);
    machine_put("/home/u/.config/composer/x", "x");
    want_of(WANT_WRITE, "/home/u/.config/composer", WANT_FAILED);
    conclude();
    CHECK_INT(learnt_count(&here.learnt, PROPOSAL_NEVER), 2);
    CHECK_INT(here.learnt.list.count, 2);
    end();
}

TEST(a_directory_that_cannot_be_looked_through_is_not_proposed_for_writing)
{
    begin();
    put_many("/srv/many", 5001);
    want_of(WANT_WRITE, "/srv/many", WANT_FAILED);
    put_many("/srv/some", 60);
    want_of(WANT_WRITE, "/srv/some", WANT_FAILED);
    conclude();
    CHECK_STR(conclusion(), "needed write /srv/some/; not-proposed /srv/many");
    CHECK_STR(gives(1), "there are too many files in it to look for what programs outside run or obey");
    end();
}

TEST(a_link_that_is_obeyed_outside_is_not_proposed_by_where_it_leads_nor_where_it_leads_by_itself)
{
    begin();
    machine_put("/home/u/dotfiles/one", "x");
    machine_put("/home/u/dotfiles/two", "x");
    machine_put("/home/u/dotfiles/three", "x");
    machine_put("/home/u/dotfiles/four", "x");
    machine_put("/home/u/lib/x", "x");
    machine_link("/home/u/lib/way", "/home/u/dotfiles/Makefile");
    machine_link("/home/u/dotfiles/Makefile", "/home/u/dotfiles/four");
    machine_link("/home/u/.emacs", "/home/u/dotfiles/one");
    machine_link("/home/u/lib/Makefile", "/home/u/dotfiles/two");
    machine_link("/home/u/lib/link", "/home/u/dotfiles/three");
    want_of(WANT_WRITE, "/home/u/dotfiles/one", WANT_FAILED);
    want_of(WANT_WRITE, "/home/u/lib/Makefile", WANT_FAILED);
    want_of(WANT_WRITE, "/home/u/lib/link", WANT_FAILED);
    want_of(WANT_WRITE, "/home/u/lib/way", WANT_FAILED);
    conclude();
    CHECK_STR(
        conclusion(),
        "needed write ~/lib/link; not-proposed /home/u/dotfiles/one; not-proposed /home/u/lib/Makefile; "
        "not-proposed /home/u/lib/way");
    end();
}

TEST(what_a_profile_seals_that_is_not_in_use_is_not_proposed_for_reading_either)
{
    begin();
    machine_put("/home/u/.pyenv/versions/3.11/pip.conf", "x");
    machine_put("/home/u/.pyenv2/versions/3.11/pip.conf", "x");
    want_of(WANT_READ, "/home/u/.pyenv/versions/3.11/pip.conf", WANT_FAILED);
    want_of(WANT_READ, "/home/u/.pyenv2/versions/3.11/pip.conf", WANT_FAILED);
    conclude();
    CHECK_STR(conclusion(), "needed read ~/.pyenv2/versions/3.11/pip.conf; not-proposed "
                            "/home/u/.pyenv/versions/3.11/pip.conf");
    CHECK(strncmp(gives(1), "sealed by toolchain/python.bawn:", 32) == 0);
    end();
}

TEST(a_toolchains_directory_is_granted_by_its_profile)
{
    begin();
    machine_put("/home/u/.rustup/toolchains/stable/bin/rustc", "x");
    machine_put("/home/u/.cargo/bin/cargo", "x");
    want_of(WANT_EXECUTE, "/home/u/.rustup/toolchains/stable/bin/rustc", WANT_FAILED);
    want_of(WANT_EXECUTE, "/home/u/.cargo/bin/cargo", WANT_FAILED);
    conclude();
    CHECK_STR(conclusion(), "needed use toolchain/rust");
    end();
}

TEST(one_host_is_named_itself_and_a_service_is_wide)
{
    begin();
    want_of(WANT_HOST, "registry.npmjs.org", WANT_NOT_KNOWN);
    wants_note(&here.wants, WANT_HOST, "db.corp", 5432, "psql");
    want_of(WANT_HOST, "not a host", WANT_NOT_KNOWN);
    conclude();
    CHECK_STR(conclusion(),
              "needed connect db.corp:5432; needed connect registry.npmjs.org; not-proposed not a host");
    end();
}

TEST(a_limit_that_was_reached_is_doubled)
{
    begin();
    want_of(WANT_LIMIT, "pids", WANT_NOT_KNOWN);
    conclude();
    CHECK_STR(conclusion(), "needed limit pids=8192");
    end();
}

TEST(names_with_control_characters_are_quoted_and_parse_as_one_rule)
{
    begin();
    machine_put("/srv/data/a\nwrite ~", "x");
    want_of(WANT_READ, "/srv/data/a\nwrite ~", WANT_FAILED);
    conclude();
    CHECK_STR(conclusion(), "needed read /srv/data/a\"\\x0a\"write\\ \\~");
    end();
}

TEST(what_the_policy_gives_already_is_not_proposed)
{
    begin();
    want_of(WANT_READ, "/usr", WANT_FAILED);
    want_of(WANT_WRITE, "/home/u/app", WANT_FAILED);
    want_of(WANT_READ, "/srv/missing", WANT_FAILED);
    conclude();
    CHECK_STR(conclusion(), "");
    end();
}

TEST(a_journal_gives_back_the_wants_that_it_was_given)
{
    auto_arena struct arena arena = {0};
    auto_wants struct wants wants = {0};
    static const char line[] =
        "{\"n\":3,\"at\":\"2026-01-31T12:00:00.000Z\",\"event\":\"wanted\",\"kind\":\"read\",\"object\":\"/x\","
        "\"port\":\"0\",\"times\":\"7\",\"program\":\"node\",\"ending\":\"failed\",\"chain\":\"\"}";
    struct journal_record record;
    REQUIRE(journal_record_parse(&arena, line, strlen(line), &record));
    wants_take(&wants, &record);
    journal_record_free(&record);
    REQUIRE(wants.all.count == 1);
    CHECK_STR(wants.all.at[0]->object, "/x");
    CHECK_INT(wants.all.at[0]->times, 7);
    CHECK_INT(wants.all.at[0]->ending, WANT_FAILED);
}

UNIT_MAIN()
