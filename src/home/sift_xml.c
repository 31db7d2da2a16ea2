/* Parses the subset of XML that Maven and NuGet use. */
#include <string.h>

#include "home/sift_parts.h"

static const char *const maven_elements[] = {"id", "name", "url", "mirrorOf", "blocked", NULL};
static const char *const nuget_attributes[] = {"key", "value", "protocolVersion", NULL};

/* Finds the text between <name> and </name> from *at on, and moves *at behind it. */
static bool take_element(struct bytes text, size_t *at, const char *name, struct bytes *ret_inner)
{
    auto_buf struct buf open = {0};
    auto_buf struct buf close = {0};
    buf_printf(&open, "<%s>", name);
    buf_printf(&close, "</%s>", name);
    const char *begin = memmem(text.at + *at, text.size - *at, open.bytes, open.size);
    if (!begin)
        return false;
    begin += open.size;
    const char *end = memmem(begin, text.size - (size_t)(begin - text.at), close.bytes, close.size);
    if (!end)
        return false;
    *ret_inner = (struct bytes){begin, (size_t)(end - begin)};
    *at = (size_t)(end - text.at) + close.size;
    return true;
}

/* Is it text without markup? */
static bool is_plain_text(struct bytes text)
{
    return !memchr(text.at, '<', text.size) && !memchr(text.at, '>', text.size);
}

/* Removes comments, because examples in comments are not settings. */
void sift_drop_comments(struct bytes text, struct buf *out)
{
    static const char open[] = "<!--", close[] = "-->";
    while (text.size) {
        const char *begin = memmem(text.at, text.size, open, strlen(open));
        size_t size = begin ? (size_t)(begin - text.at) : text.size;
        buf_add(out, text.at, size);
        const char *end = begin ? memmem(begin, text.size - size, close, strlen(close)) : NULL;
        if (!end)
            return;
        text.size -= (size_t)(end + strlen(close) - text.at);
        text.at = end + strlen(close);
    }
}

/* Keeps the mirrors of Maven's settings. */
void sift_maven(struct bytes text, struct buf *out)
{
    struct bytes mirrors, mirror, value;
    size_t at = 0, inside = 0;
    if (!take_element(text, &at, "mirrors", &mirrors))
        return;
    buf_add_str(out, "<settings>\n  <mirrors>\n");
    while (take_element(mirrors, &inside, "mirror", &mirror)) {
        buf_add_str(out, "    <mirror>\n");
        for (const char *const *name = maven_elements; *name; name++) {
            size_t start = 0;
            if (!take_element(mirror, &start, *name, &value) || !is_plain_text(value) ||
                !sift_is_understood(value))
                continue;
            buf_printf(out, "      <%s>", *name);
            sift_add_value(out, sift_trim(value));
            buf_printf(out, "</%s>\n", *name);
        }
        buf_add_str(out, "    </mirror>\n");
    }
    buf_add_str(out, "  </mirrors>\n</settings>\n");
}

/* The value of an attribute in "<add key="a" value="b" />". */
static bool take_attribute(struct bytes tag, const char *name, struct bytes *ret_value)
{
    auto_buf struct buf word = {0};
    buf_printf(&word, " %s=\"", name);
    const char *begin = memmem(tag.at, tag.size, word.bytes, word.size);
    if (!begin)
        return false;
    begin += word.size;
    const char *end = memchr(begin, '"', tag.size - (size_t)(begin - tag.at));
    if (!end)
        return false;
    *ret_value = (struct bytes){begin, (size_t)(end - begin)};
    return true;
}

/* Keeps the package sources of NuGet's settings. */
void sift_nuget(struct bytes text, struct buf *out)
{
    static const char add[] = "<add ";
    struct bytes sources, value;
    size_t at = 0;
    if (!take_element(text, &at, "packageSources", &sources))
        return;
    buf_add_str(out, "<configuration>\n  <packageSources>\n");
    if (memmem(sources.at, sources.size, "<clear", strlen("<clear")))
        buf_add_str(out, "    <clear />\n");
    for (const char *tag = sources.at;
         (tag = memmem(tag, sources.size - (size_t)(tag - sources.at), add, strlen(add)));) {
        const char *end = memchr(tag, '>', sources.size - (size_t)(tag - sources.at));
        if (!end)
            break;
        struct bytes whole = {tag, (size_t)(end - tag)};
        buf_add_str(out, "    <add");
        for (const char *const *name = nuget_attributes; *name; name++) {
            if (!take_attribute(whole, *name, &value) || !sift_is_understood(value))
                continue;
            buf_printf(out, " %s=\"", *name);
            sift_add_value(out, value);
            buf_add_char(out, '"');
        }
        buf_add_str(out, " />\n");
        tag = end;
    }
    buf_add_str(out, "  </packageSources>\n</configuration>\n");
}
