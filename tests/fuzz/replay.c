/* Runs a fuzz target over its corpus, each input an ordinary test. Prints TAP. */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static uint8_t *read_input(const char *path, size_t *ret_size)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    uint8_t *bytes = NULL;
    size_t size = 0, got = 0;
    do {
        uint8_t *more = realloc(bytes, size + 4096);
        if (!more)
            abort();
        bytes = more;
        got = fread(bytes + size, 1, 4096, file);
        size += got;
    } while (got);
    fclose(file);
    *ret_size = size;
    return bytes;
}

int main(void)
{
    struct dirent **entries = NULL;
    int count = scandir(FUZZ_CORPUS, &entries, is_input, by_name);
    printf("1..%d\n", count > 0 ? count : 0);
    for (int i = 0; i < count; i++) {
        char path[4096];
        size_t size = 0;
        snprintf(path, sizeof(path), "%s/%s", FUZZ_CORPUS, entries[i]->d_name);
        uint8_t *bytes = read_input(path, &size);
        bool ok = bytes && LLVMFuzzerTestOneInput(bytes, size) != FUZZ_NOT_TAKEN;
        printf("%s %d - %s is taken without harm\n", ok ? "ok" : "not ok", i + 1, entries[i]->d_name);
        fflush(stdout);
        free(bytes);
        free(entries[i]);
    }
    free(entries);
    return count > 0 ? 0 : 1;
}
