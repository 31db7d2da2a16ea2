/* Hunks and merges: what a person takes of a change, and what two sides make of one text. */
#include "unit.h"

#include <stdlib.h>

#include "workspace/diff.h"

static struct buf text(const char *words)
{
    struct buf buf = {0};
    buf_add_str(&buf, words);
    return buf;
}

/* --- hunks -------------------------------------------------------------------------------------------------------- */

static const char *compose(const char *from, const char *to, const char *answers, struct buf *ret_text)
{
    auto_buf struct buf old = text(from), new = text(to);
    auto_hunks struct hunks hunks;
    hunks_find(&old, &new, &hunks);
    bool taken[16] = {0};
    size_t count = 0;
    CHECK_INT(hunks.list.count, strlen(answers));
    for (const char *answer = answers; *answer && count < hunks.list.count && count < array_len(taken);
         answer++)
        taken[count++] = *answer == 'y';
    hunks_compose(&hunks, taken, ret_text);
    return buf_text(ret_text);
}

TEST(of_two_hunks_the_one_that_is_taken_is_changed)
{
    auto_buf struct buf first = {0}, second = {0}, none = {0}, both = {0};
    const char *old = "a\n1\n2\n3\n4\n5\n6\n7\n8\nb\n", *new = "A\n1\n2\n3\n4\n5\n6\n7\n8\nB\n";
    CHECK_STR(compose(old, new, "yn", &first), "A\n1\n2\n3\n4\n5\n6\n7\n8\nb\n");
    CHECK_STR(compose(old, new, "ny", &second), "a\n1\n2\n3\n4\n5\n6\n7\n8\nB\n");
    CHECK_STR(compose(old, new, "nn", &none), old);
    CHECK_STR(compose(old, new, "yy", &both), new);
}

TEST(a_hunk_is_parted_where_both_texts_have_a_line)
{
    auto_buf struct buf old = text("a\n1\nb\n2\nc\n"), new = text("A\n1\nB\n2\nC\n"), out = {0};
    auto_hunks struct hunks hunks;
    hunks_find(&old, &new, &hunks);
    CHECK_INT(hunks.list.count, 1);
    CHECK_INT(hunks_split(&hunks, 0), 3);
    CHECK_INT(hunks.list.count, 3);
    hunks_compose(&hunks, (bool[]){false, true, false}, &out);
    CHECK_STR(buf_text(&out), "a\n1\nB\n2\nc\n");
    CHECK_INT(hunks_split(&hunks, 1), 1);
    CHECK_INT(hunks.list.count, 3);
}

TEST(a_hunk_in_the_middle_of_others_is_parted_in_its_place)
{
    auto_buf struct buf old = text("x\n1\n2\n3\n4\n5\n6\n7\n8\na\n-\nb\n1\n2\n3\n4\n5\n6\n7\n8\ny\n");
    auto_buf struct buf new = text("X\n1\n2\n3\n4\n5\n6\n7\n8\nA\n-\nB\n1\n2\n3\n4\n5\n6\n7\n8\nY\n");
    auto_buf struct buf out = {0};
    auto_hunks struct hunks hunks;
    hunks_find(&old, &new, &hunks);
    CHECK_INT(hunks.list.count, 3);
    CHECK_INT(hunks_split(&hunks, 1), 2);
    hunks_compose(&hunks, (bool[]){true, false, true, false}, &out);
    CHECK_STR(buf_text(&out), "X\n1\n2\n3\n4\n5\n6\n7\n8\na\n-\nB\n1\n2\n3\n4\n5\n6\n7\n8\ny\n");
}

TEST(a_last_line_without_an_end_is_taken_and_left_as_it_is)
{
    auto_buf struct buf taken = {0}, left = {0};
    CHECK_STR(compose("a", "a\nb", "y", &taken), "a\nb");
    CHECK_STR(compose("a", "a\nb", "n", &left), "a");
}

/* --- merges ------------------------------------------------------------------------------------------------------- */

static size_t merge(const char *base, const char *ours, const char *theirs, struct buf *ret_text)
{
    auto_buf struct buf base_text = text(base), our_text = text(ours), their_text = text(theirs);
    struct merge merge = {&base_text, &our_text, &their_text, "yours", "s-1"};
    return merge_texts(&merge, ret_text);
}

TEST(changes_of_both_sides_that_do_not_touch_are_joined)
{
    auto_buf struct buf out = {0};
    CHECK_INT(merge("a\nb\nc\nd\ne\n", "A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\nf\n", &out), 0);
    CHECK_STR(buf_text(&out), "A\nb\nc\nd\nE\nf\n");
}

TEST(what_both_sides_changed_alike_is_no_clash)
{
    auto_buf struct buf out = {0};
    CHECK_INT(merge("a\nb\nc\n", "a\nX\nc\n", "a\nX\nc\n", &out), 0);
    CHECK_STR(buf_text(&out), "a\nX\nc\n");
}

TEST(lines_that_both_changed_are_a_clash_with_all_three_texts)
{
    auto_buf struct buf out = {0};
    CHECK_INT(merge("a\nb\nc\n", "a\nX\nc\n", "a\nY\nc\n", &out), 1);
    CHECK_STR(buf_text(&out), "a\n<<<<<<< yours\nX\n||||||| before\nb\n=======\nY\n>>>>>>> s-1\nc\n");
}

TEST(changes_that_touch_are_a_clash)
{
    auto_buf struct buf out = {0}, alone = {0};
    CHECK_INT(merge("a\nb\n", "A\nb\n", "a\nB\n", &out), 1);
    auto_buf struct buf base = text("a\nb\n"), ours = text("A\nb\n"), theirs = text("a\nB\n");
    struct merge both = {&base, &ours, &theirs, "yours", "s-1"};
    CHECK_INT(merge_clashes(&both, &alone), 1);
    CHECK_STR(buf_text(&alone), buf_text(&out));
}

TEST(two_texts_that_were_added_are_a_clash)
{
    auto_buf struct buf out = {0};
    CHECK_INT(merge("", "one", "two", &out), 1);
    CHECK_STR(buf_text(&out), "<<<<<<< yours\none\n||||||| before\n=======\ntwo\n>>>>>>> s-1\n");
}

/* --- arbitrary texts ---------------------------------------------------------------------------------------------- */

/* A number below `most`; the same of the same seed on every machine. */
static int arbitrary(unsigned *seed, unsigned most)
{
    *seed = *seed * 1103515245 + 12345;
    return (int)((*seed >> 16) % most);
}

static struct buf arbitrary_text(unsigned *seed)
{
    struct buf buf = {0};
    for (int lines = arbitrary(seed, 12); lines > 0; lines--)
        buf_printf(&buf, "%c%s", 'a' + arbitrary(seed, 4), lines > 1 || arbitrary(seed, 3) ? "\n" : "");
    return buf;
}

TEST(hunks_and_merges_of_arbitrary_texts_lose_nothing)
{
    for (unsigned number = 1; number <= 4000; number++) {
        unsigned seed = number;
        auto_buf struct buf old = arbitrary_text(&seed), new = arbitrary_text(&seed);
        auto_hunks struct hunks hunks;
        hunks_find(&old, &new, &hunks);
        for (size_t i = 0; i < hunks.list.count; i++)
            i += hunks_split(&hunks, i) - 1;
        bool none[64] = {0}, all[64];
        for (size_t i = 0; i < 64; i++)
            all[i] = true;
        auto_buf struct buf with_none = {0}, with_all = {0}, ours = {0}, theirs = {0}, same = {0};
        hunks_compose(&hunks, none, &with_none);
        hunks_compose(&hunks, all, &with_all);
        bool good =
            CHECK_STR(buf_text(&with_none), buf_text(&old)) && CHECK_STR(buf_text(&with_all), buf_text(&new));
        good = good && CHECK_INT(merge(buf_text(&old), buf_text(&new), buf_text(&old), &ours), 0) &&
               CHECK_STR(buf_text(&ours), buf_text(&new));
        good = good && CHECK_INT(merge(buf_text(&old), buf_text(&old), buf_text(&new), &theirs), 0) &&
               CHECK_STR(buf_text(&theirs), buf_text(&new));
        good = good && CHECK_INT(merge(buf_text(&old), buf_text(&new), buf_text(&new), &same), 0) &&
               CHECK_STR(buf_text(&same), buf_text(&new));
        if (!good) {
            printf("# seed %u\n", number);
            break;
        }
    }
}

UNIT_MAIN()
