#include "vault/credential.h"

#include <ctype.h>
#include <string.h>

#include "base/attr.h"
#include "base/json.h"
#include "base/token.h"

/* The first that is there counts. */
static const char *const tokens[] = {
    "token",    "access_token", "accessToken",        "status.token", "credential.access_token",
    "id_token", "password",     "authorizationToken", "Secret",       "auth.client_token",
};

static const char *const times[] = {
    "expires_at", "expiresAt",    "expiry",
    "expiration", "Expiration",   "expires",
    "expires_on", "token_expiry", "status.expirationTimestamp",
    "expiresOn",  "expire_time",  "credential.token_expiry",
};

static const char *const spans[] = {"expires_in", "expiresIn", "auth.lease_duration"};

/* The value at a place of one name, or two with a dot between them. */
static bool find(struct json_value object, const char *place, struct json_value *ret_value)
{
    size_t size = strcspn(place, "."), at = 0;
    struct json_value name, value;
    while (json_next_member(object, &at, &name, &value)) {
        struct bytes text = token_text(name);
        if (text.size != size || memcmp(text.at, place, size) != 0)
            continue;
        if (place[size])
            return find(value, place + size + 1, ret_value);
        *ret_value = value;
        return true;
    }
    return false;
}

/* --- times -------------------------------------------------------------------------------------------------------- */

/* Takes so many digits off the text. -1: there are fewer. */
static int take_digits(struct bytes *text, size_t count)
{
    int number = 0;
    for (size_t i = 0; i < count; i++) {
        if (i >= text->size || !isdigit((unsigned char)text->at[i]))
            return -1;
        number = number * 10 + (text->at[i] - '0');
    }
    *text = bytes_after(*text, count);
    return number;
}

static bool take_mark(struct bytes *text, const char *marks)
{
    if (!text->size || !*text->at || !strchr(marks, *text->at))
        return false;
    *text = bytes_after(*text, 1);
    return true;
}

/* "Z", "+02:00" or "-0330": seconds east of Greenwich. */
static bool take_zone(struct bytes *text, int *ret_seconds)
{
    *ret_seconds = 0;
    if (take_mark(text, "Zz"))
        return true;
    bool is_west = text->size && *text->at == '-';
    if (!take_mark(text, "+-"))
        return false;
    int hours = take_digits(text, 2);
    take_mark(text, ":");
    int minutes = take_digits(text, 2);
    *ret_seconds = (is_west ? -1 : 1) * (hours * 3600 + minutes * 60);
    return hours >= 0 && minutes >= 0 && hours < 24 && minutes < 60;
}

/* Days since 1970. (timegm would read the files of the machine's time zone, which the back cannot.) */
static int64_t days_until(int year, int month, int day)
{
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    int last = year - 1;
    int64_t leaps = last / 4 - last / 100 + last / 400 - (1969 / 4 - 1969 / 100 + 1969 / 400);
    return (int64_t)(year - 1970) * 365 + leaps + before[month - 1] + (is_leap && month > 2) + day - 1;
}

/* RFC 3339. -1: it is none. */
static int64_t read_date(struct bytes text)
{
    int year = take_digits(&text, 4), zone;
    bool is_date = take_mark(&text, "-");
    int month = take_digits(&text, 2);
    is_date &= take_mark(&text, "-");
    int day = take_digits(&text, 2);
    is_date &= take_mark(&text, "Tt ");
    int hour = take_digits(&text, 2);
    is_date &= take_mark(&text, ":");
    int minute = take_digits(&text, 2);
    is_date &= take_mark(&text, ":");
    int second = take_digits(&text, 2);
    if (take_mark(&text, ".")) {
        is_date &= take_digits(&text, 1) >= 0;
        while (take_digits(&text, 1) >= 0) {
        }
    }
    is_date &= take_zone(&text, &zone) && text.size == 0;
    if (!is_date || year < 1970 || month < 1 || month > 12 || day < 1 || day > 31 || hour < 0 || hour > 23 ||
        minute < 0 || minute > 59 || second < 0 || second > 60)
        return -1;
    int of_day = hour * 3600 + minute * 60 + second - zone;
    return days_until(year, month, day) * 86400 + of_day;
}

/* A number or a date, in quotes or not. -1: neither. */
static int64_t read_time(struct json_value value)
{
    static const int64_t earliest_in_milliseconds = 100000000000; /* as seconds, it is in the year 5138 */
    struct bytes text = token_text(value);
    int64_t number = token_number(text.size ? (struct json_value){text.at, text.size} : value);
    if (number >= earliest_in_milliseconds)
        return number / 1000;
    return number >= 0 ? number : read_date(text);
}

/* --- texts -------------------------------------------------------------------------------------------------------- */

/* A program may write the same time twice, once in a form that cannot be read here. Returns false if none can. */
static bool read_expiry(struct json_value object, int64_t now, int64_t *ret_expires)
{
    struct json_value value;
    bool is_told = false;
    *ret_expires = 0;
    for (size_t i = 0; i < array_len(times); i++) {
        if (!find(object, times[i], &value) || (value.size == 4 && memcmp(value.at, "null", 4) == 0))
            continue;
        *ret_expires = read_time(value);
        is_told |= *ret_expires < 0;
        if (*ret_expires > 0)
            return true;
    }
    for (size_t i = 0; i < array_len(spans); i++) {
        int64_t seconds = find(object, spans[i], &value) ? read_time(value) : 0;
        is_told |= seconds < 0;
        if (seconds > 0) {
            *ret_expires = now + seconds;
            return true;
        }
    }
    *ret_expires = 0;
    return !is_told;
}

/* Lines "NAME=VALUE", as git's credential helpers print them. Returns false if there is no password among them. */
static bool read_lines(struct bytes text, struct credential *credential)
{
    static const char password[] = "password=", expiry[] = "password_expiry_utc=";
    struct bytes line;
    bool is_found = false;
    if (!memchr(text.at, '\n', text.size))
        return false; /* a single line is the value itself */
    while (bytes_take_line(&text, &line)) {
        if (line.size && line.at[line.size - 1] == '\r')
            line.size--;
        if (bytes_start_with(line, password)) {
            credential->value = bytes_after(line, strlen(password));
            is_found = true;
        } else if (bytes_start_with(line, expiry)) {
            struct bytes time = bytes_after(line, strlen(expiry));
            credential->expires = token_number((struct json_value){time.at, time.size});
        }
    }
    return is_found;
}

enum credential_result credential_read(struct bytes text, int64_t now, struct credential *ret_credential)
{
    struct credential credential = {.value = text};
    struct json_value object, value;
    bool is_dated = true;
    if (text.size && *text.at == '{' && json_read(text.at, text.size, &object)) {
        credential.value = bytes_of(NULL, 0);
        for (size_t i = 0; i < array_len(tokens) && !credential.value.size; i++) {
            if (find(object, tokens[i], &value))
                credential.value = token_text(value);
        }
        if (!credential.value.size)
            return CREDENTIAL_WITHOUT_TOKEN;
        is_dated = read_expiry(object, now, &credential.expires);
    } else if (text.size && read_lines(text, &credential)) {
        is_dated = credential.expires >= 0;
    }
    if (!is_dated)
        return CREDENTIAL_UNDATED;
    if (credential.expires && credential.expires <= now)
        return CREDENTIAL_EXPIRED;
    *ret_credential = credential;
    return CREDENTIAL_READ;
}
