/*
 * Turns the shipped profiles into a C table, at build time:
 *
 *     embed-profiles OUTPUT.c FILE...
 *
 * The files come sorted by name; profiles/agent/claude.bawn becomes the profile "agent/claude".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int embed_text(FILE *out, const char *path)
{
    FILE *in = fopen(path, "rb");
    if (!in) {
        perror(path);
        return -1;
    }
    fputs("\"", out);
    for (int byte; (byte = fgetc(in)) != EOF;) {
        if (byte == '\n')
            fputs("\\n\"\n    \"", out);
        else if (byte == '"' || byte == '\\')
            fprintf(out, "\\%c", byte);
        else if (byte < 0x20 || byte >= 0x7f)
            fprintf(out, "\\%03o", (unsigned)byte);
        else
            fputc(byte, out);
    }
    fputs("\"", out);
    fclose(in);
    return 0;
}

/* ".../profiles/agent/claude.bawn" → "agent/claude". */
static int name_length(const char *path, const char **ret_name)
{
    static const char folder[] = "profiles/", suffix[] = ".bawn";
    const char *name = NULL;
    for (const char *at = path; (at = strstr(at, folder)); at++)
        name = at + strlen(folder);
    size_t size = name ? strlen(name) : 0;
    if (size <= strlen(suffix) || strcmp(name + size - strlen(suffix), suffix) != 0) {
        fprintf(stderr, "%s: not a profile, profiles/NAME.bawn\n", path);
        return -1;
    }
    *ret_name = name;
    return (int)(size - strlen(suffix));
}

int main(int count, char **arguments)
{
    if (count < 3) {
        fputs("usage: embed-profiles OUTPUT.c FILE...\n", stderr);
        return 2;
    }
    FILE *out = fopen(arguments[1], "wb");
    if (!out) {
        perror(arguments[1]);
        return 1;
    }
    fputs("/* Made by tools/embed-profiles.c from profiles/. */\n#include \"policy/profile.h\"\n\n"
          "#define TEXT(text) text, sizeof(text) - 1\n\n"
          "const struct builtin_profile builtin_profiles[] = {\n",
          out);
    for (int i = 2; i < count; i++) {
        const char *name = NULL;
        int length = name_length(arguments[i], &name);
        if (length < 0)
            return 1;
        fprintf(out, "    {\"%.*s\", TEXT(", length, name);
        if (embed_text(out, arguments[i]) < 0)
            return 1;
        fputs(")},\n", out);
    }
    fprintf(out, "};\n\nconst size_t builtin_profile_count = %d;\n", count - 2);
    return fclose(out) == 0 ? 0 : 1;
}
