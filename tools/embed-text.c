/* Makes a C file of a text, at build time: embed-text INPUT OUTPUT.c SYMBOL */
#include <stdio.h>

int main(int count, char **arguments)
{
    if (count != 4) {
        fputs("usage: embed-text INPUT OUTPUT.c SYMBOL\n", stderr);
        return 2;
    }
    FILE *in = fopen(arguments[1], "rb"), *out = fopen(arguments[2], "wb");
    if (!in || !out) {
        perror("embed-text");
        return 1;
    }
    fprintf(out, "extern const char %s[];\nconst char %s[] =\n    \"", arguments[3], arguments[3]);
    for (int byte; (byte = fgetc(in)) != EOF;) {
        if (byte == '\n')
            fputs("\\n\"\n    \"", out);
        else if (byte == '"' || byte == '\\')
            fprintf(out, "\\%c", byte);
        else if (byte < ' ' || byte > '~')
            fprintf(out, "\\%03o", (unsigned)byte);
        else
            fputc(byte, out);
    }
    fputs("\";\n", out);
    return ferror(in) || fclose(in) != 0 || fclose(out) != 0;
}
