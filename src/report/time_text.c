#include "report/time_text.h"

#include <ctype.h>
#include <string.h>

#include "base/attr.h"
#include "base/text.h"

bool duration_parse(const char *text, uint64_t *ret_seconds)
{
    static const struct {
        char unit;
        uint64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 604800}};
    uint64_t number;
    if (!text_take_number(&text, &number) || number > 1000000 || strlen(text) != 1)
        return false;
    for (size_t i = 0; i < array_len(units); i++) {
        if (*text == units[i].unit) {
            *ret_seconds = number * units[i].seconds;
            return true;
        }
    }
    return false;
}

/* "20m" or "20m ago". */
static bool parse_age(const char *text, uint64_t *ret_seconds)
{
    char age[32] = "";
    size_t size = strcspn(text, " ");
    if (size >= sizeof(age) || (text[size] && strcmp(text + size, " ago") != 0))
        return false;
    memcpy(age, text, size);
    return duration_parse(age, ret_seconds);
}

/* Takes a number of exactly this many digits, between `least` and `most`. */
static bool take_digits(const char **at, int digits, int least, int most, int *ret_number)
{
    int number = 0;
    for (int i = 0; i < digits; i++, ++*at) {
        if (!isdigit((unsigned char)**at))
            return false;
        number = number * 10 + (**at - '0');
    }
    *ret_number = number;
    return number >= least && number <= most;
}

/* Takes the byte if it is the next one. */
static bool take_char(const char **at, char wanted)
{
    bool is_there = **at == wanted;
    *at += is_there;
    return is_there;
}

/* "04:45" or "04:45:30". */
static bool take_time(const char **at, struct tm *parts)
{
    if (!take_digits(at, 2, 0, 23, &parts->tm_hour) || !take_char(at, ':') ||
        !take_digits(at, 2, 0, 59, &parts->tm_min))
        return false;
    parts->tm_sec = 59;
    return !take_char(at, ':') || take_digits(at, 2, 0, 59, &parts->tm_sec);
}

/* "2026-11-15T04:45" or "2026-11-15 04:45". Refuses a day that the month does not have. */
static bool parse_date(const char *text, time_t *ret_time)
{
    struct tm parts = {.tm_isdst = -1};
    int year, month;
    if (!take_digits(&text, 4, 1970, 9999, &year) || !take_char(&text, '-') ||
        !take_digits(&text, 2, 1, 12, &month) || !take_char(&text, '-') ||
        !take_digits(&text, 2, 1, 31, &parts.tm_mday) || (!take_char(&text, 'T') && !take_char(&text, ' ')) ||
        !take_time(&text, &parts))
        return false;
    bool is_utc = take_char(&text, 'Z');
    if (*text)
        return false;
    parts.tm_year = year - 1900;
    parts.tm_mon = month - 1;
    int day = parts.tm_mday;
    *ret_time = is_utc ? timegm(&parts) : mktime(&parts);
    return parts.tm_mday == day && *ret_time != (time_t)-1;
}

/* "04:45": today, or yesterday if that time of today is still to come. */
static bool parse_time(const char *text, time_t now, time_t *ret_time)
{
    struct tm present, parts;
    if (!localtime_r(&now, &present))
        return false;
    parts = present;
    if (!take_time(&text, &parts) || *text)
        return false;
    int ahead = (parts.tm_hour - present.tm_hour) * 60 + parts.tm_min - present.tm_min;
    parts.tm_mday -= ahead > 0;
    parts.tm_isdst = -1;
    *ret_time = mktime(&parts);
    return *ret_time != (time_t)-1;
}

bool time_parse(const char *text, time_t now, time_t *ret_time)
{
    uint64_t seconds;
    if (parse_age(text, &seconds)) {
        *ret_time = now - (time_t)seconds;
        return true;
    }
    return parse_time(text, now, ret_time) || parse_date(text, ret_time);
}

const char *time_text(struct arena *arena, struct timespec time)
{
    struct tm parts;
    char text[64];
    localtime_r(&time.tv_sec, &parts);
    return strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts) ? arena_str(arena, text) : "";
}

const char *duration_text(struct arena *arena, int64_t seconds)
{
    static const struct {
        int64_t seconds;
        const char *name;
    } units[] = {{86400, "day"}, {3600, "hour"}, {60, "minute"}, {1, "second"}};
    size_t unit = 0;
    while (unit + 1 < array_len(units) && seconds < units[unit].seconds)
        unit++;
    long long count = seconds / units[unit].seconds;
    return arena_printf(arena, "%lld %s%s", count, units[unit].name, count == 1 ? "" : "s");
}

const char *age_text(struct arena *arena, struct timespec time)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t age = now.tv_sec - time.tv_sec;
    return age > 0 ? arena_printf(arena, "%s ago", duration_text(arena, age)) : "just now";
}
