#include "git/push.h"
#include "unit.h"

#define ZERO "0000000000000000000000000000000000000000"
#define ONE  "1111111111111111111111111111111111111111"
#define TWO  "2222222222222222222222222222222222222222"
#define CAPS " report-status side-band-64k agent=git/2"

static const char *const agents_refs[] = {"refs/heads/agent/*"};
static const struct push_rule plain = {.refs = agents_refs, .ref_count = 1};

/* Adds "BEFORE AFTER REF", of the first command with capabilities after a NUL. */
static void add_command(struct buf *out, const char *command, const char *capabilities)
{
    auto_buf struct buf line = {0};
    buf_add_str(&line, command);
    if (capabilities) {
        buf_add_char(&line, '\0');
        buf_add_str(&line, capabilities);
    }
    pkt_add(out, bytes_of(line.bytes, line.size));
}

/* Reads all of the bytes, in pieces of that size, and says what came of it: "whole", "more" or the problem. */
static const char *read_pieces(struct push *push, const struct buf *text, size_t piece)
{
    *push = (struct push){0};
    for (size_t at = 0; at < text->size && push->state == PUSH_MORE;)
        at += push_take(push, bytes_of(text->bytes + at, text->size - at < piece ? text->size - at : piece));
    return push->state == PUSH_WHOLE ? "whole" : push->state == PUSH_MORE ? "more" : push->problem;
}

/* What one command, with these capabilities, is judged to be: "passes", "needs proof", or the refusal. */
static const char *judged(const char *command, const struct push_rule *rule)
{
    auto_buf struct buf text = {0};
    struct push push;
    add_command(&text, command, CAPS);
    pkt_add_flush(&text);
    const char *outcome = read_pieces(&push, &text, text.size);
    if (strcmp(outcome, "whole") == 0) {
        push_judge(&push, rule, 1);
        outcome = push.commands.at[0].refusal       ? push.commands.at[0].refusal
                  : push.commands.at[0].needs_proof ? "needs proof"
                                                    : "passes";
    }
    push_free(&push);
    return outcome;
}

TEST(a_push_is_read_in_any_pieces_and_written_in_one_spelling)
{
    auto_buf struct buf text = {0};
    add_command(&text, "shallow " TWO, NULL);
    add_command(&text, ZERO " " ONE " refs/heads/agent/a", CAPS " push-options");
    add_command(&text, ONE " " TWO " refs/heads/agent/b", NULL);
    pkt_add_flush(&text);
    add_command(&text, "ci.skip", NULL);
    pkt_add_flush(&text);
    for (size_t piece = 1; piece < 70; piece++) {
        struct push push;
        auto_buf struct buf again = {0};
        CHECK_STR(read_pieces(&push, &text, piece), "whole");
        CHECK(push.commands.count == 2 && push.options.count == 1 && push.shallow.count == 1);
        push_add_commands(&push, &again);
        CHECK(again.size == text.size && memcmp(again.bytes, text.bytes, text.size) == 0);
        push_free(&push);
    }
}

TEST(what_follows_the_commands_is_left_for_the_pack)
{
    auto_buf struct buf text = {0};
    struct push push = {0};
    add_command(&text, ZERO " " ONE " refs/heads/agent/a", CAPS);
    pkt_add_flush(&text);
    size_t commands = text.size;
    buf_add_str(&text, "PACK…0000");
    CHECK(push_take(&push, bytes_of(text.bytes, text.size)) == commands);
    CHECK(push_has_pack(&push));
    push_free(&push);
}

TEST(creating_updating_deleting_and_forcing_are_separate_rights)
{
    struct push_rule forces = plain, deletes = plain;
    forces.may_force = deletes.may_delete = true;
    CHECK_STR(judged(ZERO " " ONE " refs/heads/agent/a", &plain), "passes");
    CHECK_STR(judged(ONE " " TWO " refs/heads/agent/a", &plain), "needs proof");
    CHECK_STR(judged(ONE " " TWO " refs/heads/agent/a", &forces), "passes");
    CHECK_STR(judged(ONE " " ZERO " refs/heads/agent/a", &plain), "deleting a ref needs push+delete");
    CHECK_STR(judged(ONE " " ZERO " refs/heads/agent/a", &deletes), "passes");
    CHECK_STR(judged(ONE " " ZERO " refs/heads/main", &deletes), "no rule lets this ref be pushed to");
    CHECK_STR(judged(ZERO " " ONE " refs/heads/agent/a/b", &plain), "no rule lets this ref be pushed to");
    CHECK_STR(judged(ZERO " " ONE " refs/heads/agent", &plain), "no rule lets this ref be pushed to");
    CHECK_STR(judged(ZERO " " ONE " refs/tags/agent/a", &plain), "no rule lets this ref be pushed to");
}

TEST(what_is_not_understood_is_refused)
{
    static const char form[] = "a command is not well formed",
                      name[] = "a ref is named twice, or has a name that git does not take",
                      unknown[] = "it uses a part of git's protocol that is not passed on";
    static const struct {
        const char *command, *problem;
    } cases[] = {
        {ZERO " " ZERO " refs/heads/agent/a", name},     {ZERO " " ONE " refs/heads/agent/../main", name},
        {ZERO " " ONE " refs/heads/agent/a b", form},    {ZERO " " ONE " HEAD", name},
        {ZERO " " ONE "  refs/heads/agent/a", form},     {ZERO "\t" ONE " refs/heads/agent/a", form},
        {"A" ONE " " TWO " refs/heads/agent/a", form},   {ZERO " 11 refs/heads/agent/a", form},
        {"push-cert", "a signed push is not passed on"}, {"shallow x", "a shallow line is not well formed"},
    };
    for (size_t i = 0; i < array_len(cases); i++)
        CHECK_STR(judged(cases[i].command, &plain), cases[i].problem);
    static const char *const capabilities[] = {" report-status next-thing", " object-format=sha256",
                                               " agent=a\tb"};
    for (size_t i = 0; i < array_len(capabilities); i++) {
        auto_buf struct buf text = {0};
        struct push push;
        add_command(&text, ZERO " " ONE " refs/heads/agent/a", capabilities[i]);
        CHECK_STR(read_pieces(&push, &text, text.size), unknown);
        push_free(&push);
    }
}

TEST(a_second_list_of_capabilities_and_a_ref_named_twice_are_refused)
{
    static const char *const seconds[] = {ZERO " " TWO " refs/heads/agent/a",
                                          ZERO " " TWO " refs/heads/agent/b"};
    for (size_t i = 0; i < array_len(seconds); i++) {
        auto_buf struct buf text = {0};
        struct push push;
        add_command(&text, ZERO " " ONE " refs/heads/agent/a", CAPS);
        add_command(&text, seconds[i], i == 1 ? CAPS : NULL);
        CHECK_STR(read_pieces(&push, &text, text.size),
                  i == 1 ? "a command is not well formed"
                         : "a ref is named twice, or has a name that git does not take");
        push_free(&push);
    }
}

TEST(pkt_lines_of_no_or_wrong_length_are_refused)
{
    static const char *const wrong[] = {"0001", "0002", "0003", "0004", "00fG", "FFFF", "fff1", "+001"};
    for (size_t i = 0; i < array_len(wrong); i++) {
        struct push push = {0};
        push_take(&push, bytes_of(wrong[i], 4));
        CHECK_STR(push.state == PUSH_BAD ? push.problem : "taken", "a pkt-line is not well formed");
        push_free(&push);
    }
}

TEST(a_refusal_names_every_ref_as_a_server_would)
{
    auto_buf struct buf text = {0}, answer = {0};
    struct push push;
    add_command(&text, ZERO " " ONE " refs/heads/agent/a", " report-status");
    add_command(&text, ZERO " " ONE " refs/heads/main", NULL);
    pkt_add_flush(&text);
    CHECK_STR(read_pieces(&push, &text, text.size), "whole");
    push_judge(&push, &plain, 1);
    CHECK(push_is_refused(&push));
    push_add_refusal(&push, &answer);
    CHECK_STR(buf_text(&answer), "000eunpack ok\n"
                                 "003cng refs/heads/agent/a not sent: another ref was refused\n"
                                 "003ang refs/heads/main no rule lets this ref be pushed to\n"
                                 "0000");
    push_free(&push);
}

/* --- ancestry --- */

/* Adds a commit as `git cat-file --batch` prints it. Returns its name. */
static struct git_position add_commit(struct buf *out, const char *parent)
{
    auto_buf struct buf content = {0};
    struct git_position name = {0};
    struct git_hash hash;
    buf_printf(&content, "tree " TWO "\n%s%s%sauthor a <a> 0 +0000\n\nwords\n", parent ? "parent " : "",
               parent ? parent : "", parent ? "\n" : "");
    git_hash_of("commit", bytes_of(content.bytes, content.size), &hash);
    git_hash_format(&hash, name.digits);
    buf_printf(out, "%s commit %zu\n%s\n", name.digits, content.size, content.bytes);
    return name;
}

static bool proves(const struct git_position *before, const struct git_position *after,
                   const struct buf *proof, size_t piece)
{
    struct ancestry ancestry;
    struct push_command command = {.before = *before, .after = *after};
    ancestry_begin(&ancestry, &command);
    for (size_t at = 0; at < proof->size; at += piece)
        ancestry_take(&ancestry,
                      bytes_of(proof->bytes + at, proof->size - at < piece ? proof->size - at : piece));
    bool is_proven = ancestry.is_proven;
    ancestry_free(&ancestry);
    return is_proven;
}

TEST(a_chain_of_commits_proves_a_fast_forward)
{
    auto_buf struct buf first = {0}, second = {0}, third = {0}, chain = {0};
    struct git_position one = add_commit(&first, NULL), two = add_commit(&second, one.digits),
                        three = add_commit(&third, two.digits);
    buf_add(&chain, third.bytes, third.size);
    buf_add(&chain, second.bytes, second.size);
    for (size_t piece = 1; piece < 300; piece += 7)
        CHECK(proves(&one, &three, &chain, piece));
    CHECK(proves(&two, &three, &third, 4096));
    CHECK(!proves(&one, &three, &third, 4096));  /* a link is missing */
    CHECK(!proves(&three, &one, &chain, 4096));  /* backwards */
    CHECK(!proves(&one, &three, &second, 4096)); /* a commit that nothing leads to */
}

TEST(a_forged_commit_proves_nothing)
{
    auto_buf struct buf real = {0}, other = {0}, forged = {0};
    struct git_position root = add_commit(&other, NULL), after = add_commit(&real, ONE);
    buf_add(&forged, real.bytes, real.size);
    CHECK(!proves(&root, &after, &forged, 4096));
    char *parent = strstr(forged.bytes, "parent ") + strlen("parent ");
    memcpy(parent, root.digits, SHA1_DIGITS); /* the content no longer has its name */
    CHECK(!proves(&root, &after, &forged, 4096));
    struct git_position one = {ONE};
    CHECK(proves(&one, &after, &real, 4096)); /* the control */
}

UNIT_MAIN()
