#include "figures.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RESAMPLINGS = 1000 };

struct ratio {
    double value, low, high;
};

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Sorts its argument. */
static double quantile(double *values, size_t count, double share)
{
    qsort(values, count, sizeof *values, compare);
    size_t at = (size_t)((double)count * share);
    return values[at < count ? at : count - 1];
}

static double quantile_of(const double *values, size_t count, double share)
{
    double *copy = malloc(count * sizeof *copy);
    if (!copy)
        abort();
    memcpy(copy, values, count * sizeof *copy);
    double found = quantile(copy, count, share);
    free(copy);
    return found;
}

/* Of xorshift: the same figures give the same intervals, on every machine. */
static size_t next_index(uint64_t *state, size_t count)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (size_t)(*state % count);
}

/* Of two medians. A resampling draws whole rounds: what one contender met in a round the others met too. */
static struct ratio ratio_of(const double *samples, const double *base, size_t runs)
{
    double *drawn = malloc(2 * runs * sizeof *drawn), ratios[RESAMPLINGS];
    if (!drawn)
        abort();
    double *of = drawn + runs;
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < RESAMPLINGS; i++) {
        for (size_t run = 0; run < runs; run++) {
            size_t at = next_index(&state, runs);
            drawn[run] = samples[at];
            of[run] = base[at];
        }
        ratios[i] = quantile(drawn, runs, 0.5) / quantile(of, runs, 0.5);
    }
    free(drawn);
    return (struct ratio){.value = quantile_of(samples, runs, 0.5) / quantile_of(base, runs, 0.5),
                          .low = quantile_of(ratios, RESAMPLINGS, 0.025),
                          .high = quantile_of(ratios, RESAMPLINGS, 0.975)};
}

static bool missed(const struct figures *figures, const struct contender *contender, double ratio)
{
    return figures->more_is_better ? ratio < contender->goal : ratio > contender->goal;
}

static void print_row(const struct figures *figures, size_t i)
{
    const struct contender *contender = &figures->contenders[i], *base = &figures->contenders[figures->base];
    struct ratio ratio = ratio_of(contender->samples, base->samples, figures->runs);
    printf("%-28s %11.2f %11.2f", contender->name, quantile_of(contender->samples, figures->runs, 0.5),
           quantile_of(contender->samples, figures->runs, 0.99));
    if (contender->processor)
        printf(" %9.2f", quantile_of(contender->processor, figures->runs, 0.5));
    printf("  %6.3f [%.3f, %.3f]", ratio.value, ratio.low, ratio.high);
    if (contender->goal > 0)
        printf("  goal %.2f: %s", contender->goal,
               missed(figures, contender, ratio.value) ? "MISSED" : "met");
    putchar('\n');
}

static void write_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        if ((unsigned char)*text >= ' ')
            fputc(*text, out);
    }
    fputc('"', out);
}

static void write_contender(FILE *out, const struct figures *figures, size_t i)
{
    const struct contender *contender = &figures->contenders[i], *base = &figures->contenders[figures->base];
    struct ratio ratio = ratio_of(contender->samples, base->samples, figures->runs);
    fputs(i ? ",{\"name\":" : "{\"name\":", out);
    write_string(out, contender->name);
    fprintf(out, ",\"median\":%.4f,\"p99\":%.4f", quantile_of(contender->samples, figures->runs, 0.5),
            quantile_of(contender->samples, figures->runs, 0.99));
    if (contender->processor)
        fprintf(out, ",\"processor\":%.4f", quantile_of(contender->processor, figures->runs, 0.5));
    fprintf(out, ",\"ratio\":%.4f,\"low\":%.4f,\"high\":%.4f", ratio.value, ratio.low, ratio.high);
    if (contender->goal > 0)
        fprintf(out, ",\"goal\":%.4f,\"met\":%s", contender->goal,
                missed(figures, contender, ratio.value) ? "false" : "true");
    fputc('}', out);
}

static int append_json(const struct figures *figures, const char *path)
{
    FILE *out = fopen(path, "ae");
    if (!out) {
        perror(path);
        return -1;
    }
    fputs("{\"title\":", out);
    write_string(out, figures->title);
    fputs(",\"unit\":", out);
    write_string(out, figures->unit);
    fprintf(out, ",\"runs\":%zu,\"base\":", figures->runs);
    write_string(out, figures->contenders[figures->base].name);
    fprintf(out, ",\"more_is_better\":%s,\"contenders\":[", figures->more_is_better ? "true" : "false");
    for (size_t i = 0; i < figures->contender_count; i++)
        write_contender(out, figures, i);
    fputs("]}\n", out);
    if (fclose(out) != 0) {
        perror(path);
        return -1;
    }
    return 0;
}

int figures_find(const struct figures *figures, const char *name)
{
    for (size_t i = 0; i < figures->contender_count; i++) {
        if (strcmp(figures->contenders[i].name, name) == 0)
            return (int)i;
    }
    return -1;
}

void figures_free(struct figures *figures)
{
    for (size_t i = 0; i < figures->contender_count; i++) {
        free(figures->contenders[i].owned_name);
        free(figures->contenders[i].samples);
        free(figures->contenders[i].processor);
    }
    figures->contender_count = 0;
}

int figures_print(const struct figures *figures)
{
    printf("%-28s %11s %11s%s  ratio to %s, 95 %% interval; %zu runs\n", figures->title, figures->unit, "p99",
           figures->contenders[0].processor ? "  cpu (ms)" : "", figures->contenders[figures->base].name,
           figures->runs);
    for (size_t i = 0; i < figures->contender_count; i++)
        print_row(figures, i);
    const char *json = getenv("BENCH_JSON");
    return json && *json ? append_json(figures, json) : 0;
}
