/*
 * Turns the shipped profiles into a C table, at build time:
 *
 *     embed-profiles OUTPUT.c PROFILES-FOLDER FILE...
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

/* "profiles/agent/claude.bawn" below "profiles" → "agent/claude". */
static int name_length(const char *path, const char *folder, const char **ret_name)
{
    size_t folder_size = strlen(folder), size = strlen(path);
    const char *suffix = ".bawn";
    if (size < folder_size + 2 + strlen(suffix) || strncmp(path, folder, folder_size) != 0 ||
        strcmp(path + size - strlen(suffix), suffix) != 0) {
        fprintf(stderr, "%s: not a profile below %s\n", path, folder);
        return -1;
    }
    *ret_name = path + folder_size + 1;
    return (int)(size - folder_size - 1 - strlen(suffix));
}

int main(int count, char **arguments)
{
    if (count < 4) {
        fputs("usage: embed-profiles OUTPUT.c PROFILES-FOLDER FILE...\n", stderr);
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
    for (int i = 3; i < count; i++) {
        const char *name = NULL;
        int length = name_length(arguments[i], arguments[2], &name);
        if (length < 0)
            return 1;
        fprintf(out, "    {\"%.*s\", TEXT(", length, name);
        if (embed_text(out, arguments[i]) < 0)
            return 1;
        fputs(")},\n", out);
    }
    fprintf(out, "};\n\nconst size_t builtin_profile_count = %d;\n", count - 3);
    return fclose(out) == 0 ? 0 : 1;
}
