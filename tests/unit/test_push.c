#include "git/pack.h"
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
    CHECK_STR(judged(ONE " " ZERO " refs/heads/main", &deletes), "no rule allows a push to this ref");
    CHECK_STR(judged(ZERO " " ONE " refs/heads/agent/a/b", &plain), "no rule allows a push to this ref");
    CHECK_STR(judged(ZERO " " ONE " refs/heads/agent", &plain), "no rule allows a push to this ref");
    CHECK_STR(judged(ZERO " " ONE " refs/tags/agent/a", &plain), "no rule allows a push to this ref");
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
                                 "0039ng refs/heads/main no rule allows a push to this ref\n"
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
    CHECK(git_hash_of("commit", bytes_of(content.bytes, content.size), &hash));
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

/* --- packs --- */

/* Adds an entry whose bytes are stored as they are. `base`: of a delta, how far before it its base begins. */
static void add_entry(struct buf *pack, unsigned kind, size_t base, struct bytes content)
{
    unsigned more = (unsigned)(content.size >> 4);
    buf_add_char(pack, (char)(0x80 | kind << 4 | (content.size & 0xf)));
    buf_add_char(pack, (char)(0x80 | (more & 0x7f)));
    buf_add_char(pack, (char)(more >> 7));
    if (base) {
        buf_add_char(pack, (char)(0x80 | (((base - 128) >> 7) & 0x7f)));
        buf_add_char(pack, (char)(base & 0x7f));
    }
    const unsigned char head[] = {0x78,
                                  0x01,
                                  1,
                                  (unsigned char)content.size,
                                  (unsigned char)(content.size >> 8),
                                  (unsigned char)~content.size,
                                  (unsigned char)(~content.size >> 8)};
    buf_add(pack, (const char *)head, sizeof(head));
    buf_add(pack, content.at, content.size);
    buf_add(pack, "sum!", 4);
}

static void begin_pack(struct buf *pack, unsigned char count)
{
    const char head[] = {'P', 'A', 'C', 'K', 0, 0, 0, 2, 0, 0, 0, (char)count};
    buf_add(pack, head, sizeof(head));
}

/* A commit's own bytes, of what add_commit adds. */
static struct bytes content_of(const struct buf *printed)
{
    size_t head = strcspn(printed->bytes, "\n") + 1;
    return bytes_of(printed->bytes + head, printed->size - head - 1);
}

/* Does the pack prove it, if it comes in pieces of that size? */
static bool pack_proves(const struct git_position *before, const struct git_position *after,
                        const struct buf *bytes, size_t piece)
{
    auto_buf struct buf text = {0}, command = {0};
    struct push push;
    struct pack pack;
    buf_printf(&command, "%s %s refs/heads/agent/a", before->digits, after->digits);
    add_command(&text, buf_text(&command), CAPS);
    pkt_add_flush(&text);
    CHECK_STR(read_pieces(&push, &text, text.size), "whole");
    push_judge(&push, &plain, 1);
    pack_begin(&pack, &push);
    for (size_t size = 0; size < bytes->size;) {
        size = bytes->size - size < piece ? bytes->size : size + piece;
        if (!pack_read(&pack, bytes_of(bytes->bytes, size)))
            break;
    }
    bool is_proven = !push.commands.at[0].needs_proof;
    pack_free(&pack);
    push_free(&push);
    return is_proven;
}

TEST(the_commits_of_a_pack_prove_a_fast_forward_in_any_order)
{
    auto_buf struct buf first = {0}, second = {0}, third = {0}, down = {0}, up = {0}, behind = {0},
                        other = {0};
    struct git_position one = add_commit(&first, NULL), two = add_commit(&second, one.digits),
                        three = add_commit(&third, two.digits);
    begin_pack(&down, 2);
    add_entry(&down, 1, 0, content_of(&third));
    add_entry(&down, 1, 0, content_of(&second));
    begin_pack(&up, 2);
    add_entry(&up, 1, 0, content_of(&second));
    add_entry(&up, 1, 0, content_of(&third));
    begin_pack(&behind, 3); /* commits after a tree are not read */
    add_entry(&behind, 2, 0, bytes_of("tree", 4));
    add_entry(&behind, 1, 0, content_of(&third));
    add_entry(&behind, 1, 0, content_of(&second));
    for (size_t piece = 1; piece < 100; piece += 9) {
        CHECK(pack_proves(&one, &three, &down, piece));
        CHECK(pack_proves(&one, &three, &up, piece));
        CHECK(!pack_proves(&one, &three, &behind, piece));
        CHECK(!pack_proves(&three, &one, &down, piece));
    }
    buf_add(&other, down.bytes, down.size);
    other.bytes[7] = 3; /* a version that is not known */
    CHECK(!pack_proves(&one, &three, &other, 4096));
    other.bytes[7] = 2;
    char *parent = memmem(other.bytes, other.size, two.digits, SHA1_DIGITS);
    CHECK(pack_proves(&one, &three, &other, 4096));
    memcpy(parent, one.digits, SHA1_DIGITS); /* the commit has another name now */
    CHECK(!pack_proves(&one, &three, &other, 4096));
}

TEST(a_commit_may_be_a_delta_of_another)
{
    auto_buf struct buf first = {0}, second = {0}, third = {0}, pack = {0}, delta = {0}, wrong = {0};
    struct git_position one = add_commit(&first, NULL), two = add_commit(&second, one.digits),
                        three = add_commit(&third, two.digits);
    struct bytes base = content_of(&third), made = content_of(&second);
    size_t start = strlen("tree ") + SHA1_DIGITS + 1 + strlen("parent ");
    size_t rest = start + SHA1_DIGITS;
    const unsigned char sizes[] = {(unsigned char)(base.size | 0x80), (unsigned char)(base.size >> 7),
                                   (unsigned char)(made.size | 0x80), (unsigned char)(made.size >> 7)},
                        copies[] = {0x90, (unsigned char)start}, insert = SHA1_DIGITS,
                        ends[] = {0x91, (unsigned char)rest, (unsigned char)(base.size - rest)};
    buf_add(&delta, (const char *)sizes, sizeof(sizes));
    buf_add(&delta, (const char *)copies, sizeof(copies));
    buf_add_char(&delta, (char)insert);
    buf_add(&delta, one.digits, SHA1_DIGITS);
    buf_add(&delta, (const char *)ends, sizeof(ends));
    begin_pack(&pack, 2);
    add_entry(&pack, 1, 0, base);
    add_entry(&pack, 6, pack.size - 12, bytes_of(delta.bytes, delta.size));
    for (size_t piece = 1; piece < 100; piece += 9)
        CHECK(pack_proves(&one, &three, &pack, piece));
    for (size_t i = 0; i < delta.size; i++) { /* one byte more in each place: it is another commit, or none */
        wrong.size = 0;
        begin_pack(&wrong, 2);
        add_entry(&wrong, 1, 0, base);
        delta.bytes[i]++;
        add_entry(&wrong, 6, wrong.size - 12, bytes_of(delta.bytes, delta.size));
        delta.bytes[i]--;
        CHECK(!pack_proves(&one, &three, &wrong, 4096));
    }
}

UNIT_MAIN()
