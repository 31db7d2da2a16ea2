/* Proposals from wants: what is folded, what is never proposed, and that a wide grant says how wide it is. */
#include "unit.h"

#include "machine.h"

#include "learn/learn.h"

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
