/* Times as a person types them. */
#include "unit.h"

#include <stdlib.h>

#include "report/time_text.h"

static void set_zone(const char *zone)
{
    setenv("TZ", zone, 1);
    tzset();
}

static time_t parsed(const char *text, time_t now)
{
    time_t found = 0;
    return time_parse(text, now, &found) ? found : -1;
}

TEST(lengths_of_time)
{
    uint64_t seconds = 0;
    CHECK(duration_parse("90s", &seconds) && seconds == 90);
    CHECK(duration_parse("15m", &seconds) && seconds == 900);
    CHECK(duration_parse("2w", &seconds) && seconds == 1209600);
    static const char *const wrong[] = {
        "", "m", "15", "-1m", "1.5h", "15 m", "15mm", "1000001d", "99999999999999999999s"};
    for (size_t i = 0; i < array_len(wrong); i++)
        CHECK(!duration_parse(wrong[i], &seconds));
}

/* 2026-11-15T12:00:00Z */
static const time_t noon = 1794744000, day = 86400, hour = 3600, minute = 60;

TEST(a_time_of_day_is_the_last_one_of_that_name)
{
    set_zone("UTC0");
    CHECK_INT(parsed("04:45:30", noon), noon - 7 * hour - 14 * minute - 30);
    CHECK_INT(parsed("04:45", noon), noon - 7 * hour - 14 * minute - 1); /* the minute's end */
    CHECK_INT(parsed("12:00", noon), noon + 59);
    CHECK_INT(parsed("12:01:00", noon), noon + minute - day);
    CHECK_INT(parsed("23:00:00", noon), noon + 11 * hour - day);
    set_zone("CET-1");
    CHECK_INT(parsed("04:45:30", noon), noon - 8 * hour - 14 * minute - 30);
}

TEST(a_date_is_local_unless_it_says_otherwise)
{
    set_zone("CET-1");
    CHECK_INT(parsed("2026-11-15T13:00:00", noon), noon);
    CHECK_INT(parsed("2026-11-15T12:00:00Z", noon), noon);
    CHECK_INT(parsed("2026-11-15T12:59", noon), noon - 1);
    CHECK_INT(parsed("2026-11-15 12:59", noon), noon - 1);
    CHECK_INT(parsed("20m", noon), noon - 1200);
    CHECK_INT(parsed("20m ago", noon), noon - 1200);
    struct arena arena = {0};
    CHECK_STR(time_text(&arena, (struct timespec){.tv_sec = noon}), "2026-11-15T13:00:00");
    arena_free(&arena);
}

TEST(what_is_no_time_is_refused)
{
    set_zone("UTC0");
    static const char *const wrong[] = {"",
                                        "4:45",
                                        "24:00",
                                        "04:60",
                                        "04:45:60",
                                        "04:45 ",
                                        "04:4",
                                        "2026-11-15",
                                        "2026-02-30T04:45",
                                        "2026-13-01T04:45",
                                        "now",
                                        "ago",
                                        "20m  ago",
                                        "20m ago ",
                                        "20m before",
                                        "04:45 ago",
                                        "99999999999999999999999999999999999999999s ago",
                                        "04:45:3",
                                        "2026-11-15T04:45:30+01:00"};
    for (size_t i = 0; i < array_len(wrong); i++)
        CHECK_INT(parsed(wrong[i], noon), -1);
}

UNIT_MAIN()
