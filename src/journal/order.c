#include <stdlib.h>
#include <string.h>

#include "base/timespec.h"
#include "journal/session.h"

/* The number at the end of a name, and the size of what stands before it; 0 where there is none. */
static unsigned long split_name(const char *name, size_t *ret_base)
{
    const char *dash = strrchr(name, '-');
    char *end = NULL;
    unsigned long number = dash ? strtoul(dash + 1, &end, 10) : 0;
    bool is_number = end && *end == '\0' && dash[1];
    *ret_base = is_number ? (size_t)(dash - name) : strlen(name);
    return is_number ? number : 0;
}

static int by_name(const void *one, const void *two)
{
    const struct session_age *a = one, *b = two;
    size_t left, right;
    unsigned long first = split_name(a->name, &left), second = split_name(b->name, &right);
    int order = memcmp(a->name, b->name, left < right ? left : right);
    if (order || left != right)
        return order ? order : (left > right) - (left < right);
    return (first > second) - (first < second);
}

static bool have_same_base(const struct session_age *a, const struct session_age *b)
{
    size_t left, right;
    split_name(a->name, &left);
    split_name(b->name, &right);
    return left == right && memcmp(a->name, b->name, left) == 0;
}

static int older_first(const void *one, const void *two)
{
    const struct session_age *a = one, *b = two;
    int order = timespec_order(a->time, b->time);
    return order ? order : by_name(one, two);
}

void sessions_sort(struct session_age *ages, size_t count)
{
    if (!count)
        return;
    qsort(ages, count, sizeof(*ages), by_name);
    for (size_t i = 1; i < count; i++) {
        if (have_same_base(&ages[i - 1], &ages[i]) && timespec_order(ages[i].time, ages[i - 1].time) < 0)
            ages[i].time = ages[i - 1].time;
    }
    qsort(ages, count, sizeof(*ages), older_first);
}
