/* Amendments to a plan: they are seen through it, and the plan stays as it was. */
#include "unit.h"

#include "base/attr.h"
#include "plan/amendments.h"

static struct operation made[] = {
    {.kind = OP_BIND_WRITE, .path = "/w"},
    {.kind = OP_FREEZE, .path = "/w/config", .missing = true},
    {.kind = OP_SEED, .path = "/cache"},
};
static const struct operations in_plan = {.at = made, .count = array_len(made), .degraded = 1U << WALL_ROOT};

TEST(without_amendments_the_plan_is_used)
{
    struct arena arena = {0};
    struct amendments none = {0};
    CHECK(amended_operations(&arena, &in_plan, NULL).at == made);
    CHECK(amended_operations(&arena, &in_plan, &none).at == made);
    CHECK_INT(amended_count(&in_plan, NULL), 3);
    CHECK(amended_operation(&in_plan, NULL, 1).missing);
    arena_free(&arena);
}

TEST(amendments_are_seen_and_the_plan_stays)
{
    struct arena arena = {0};
    struct amendments amendments = {0};
    amend_presence(&amendments, 1, true);
    amend_presence(&amendments, 1, false);
    amend_copy(&amendments, 0, "/copy");
    amend_layer(&amendments, 2, "/layer");
    amend_hide(&amendments, "/w/socket");
    struct operations all = amended_operations(&arena, &in_plan, &amendments);
    CHECK_INT(all.count, 4);
    CHECK_INT(all.degraded, in_plan.degraded);
    for (size_t i = 0; i < all.count; i++) {
        struct operation one = amended_operation(&in_plan, &amendments, i);
        CHECK_INT(one.kind, all.at[i].kind);
        CHECK_STR(one.path, all.at[i].path);
        CHECK(one.missing == all.at[i].missing && one.source == all.at[i].source &&
              one.overlay == all.at[i].overlay);
    }
    CHECK_STR(all.at[0].source, "/copy");
    CHECK(!all.at[1].missing);
    CHECK_STR(all.at[2].overlay, "/layer");
    CHECK_INT(all.at[3].kind, OP_HIDE);
    CHECK_STR(all.at[3].path, "/w/socket");
    CHECK(!made[0].source && made[1].missing && !made[2].overlay);
    amendments_free(&amendments);
    arena_free(&arena);
}

/* tests/costs counts the instructions of this for more and for fewer: a command can plant git directories, and each has four frozen paths. */
TEST(each_of_many_amendments_is_found)
{
    const char *many = getenv("BAWN_MANY");
    size_t count = many ? strtoul(many, NULL, 10) : 100, missing = 0;
    struct operations planned = {.at = calloc(count, sizeof(struct operation)), .count = count};
    struct amendments amendments = {0};
    for (size_t i = 0; i < count; i++)
        amend_presence(&amendments, i, i % 2);
    for (size_t i = 0; i < count; i++)
        missing += amended_operation(&planned, &amendments, i).missing;
    CHECK_INT(missing, count / 2);
    amendments_free(&amendments);
    free(planned.at);
}

UNIT_MAIN()
