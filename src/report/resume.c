#include <string.h>

#include "base/attr.h"
#include "base/text.h"
#include "report/event.h"

/* How each agent goes on with its latest conversation, as its own help says. */
static const struct {
    const char *agent, *words;
} resumes[] = {
    {"agent/claude", "--continue"},  {"agent/codex", "resume --last"}, {"agent/opencode", "--continue"},
    {"agent/kilo", "--continue"},    {"agent/qwen", "--continue"},     {"agent/gemini", "--resume latest"},
    {"agent/copilot", "--continue"}, {"agent/auggie", "--continue"},   {"agent/cline", "--continue"},
    {"agent/pi", "--continue"},      {"agent/continue", "--resume"},
};

const char *glance_resume(struct arena *arena, const struct glance *glance)
{
    if (!glance->typed || !*glance->typed || !glance->directory)
        return NULL;
    const char *words = NULL;
    for (size_t i = 0; glance->agent && i < array_len(resumes); i++)
        words = strcmp(resumes[i].agent, glance->agent) == 0 ? resumes[i].words : words;
    bool is_said = words && strstr(glance->typed, words);
    const char *line =
        arena_printf(arena, "cd %s && bawn %s%s%s", shell_word(arena, glance->directory), glance->typed,
                     words && !is_said ? " " : "", words && !is_said ? words : "");
    auto_buf struct buf shown = {0};
    text_add_printable(&shown, line, strlen(line));
    return arena_str(arena, buf_text(&shown));
}
