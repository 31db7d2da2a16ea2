/* What a fuzz target defines: libFuzzer calls it with inputs it invents, replay.c with those of the corpus. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* What it returns for an input that it has no use for: one of the corpus is none. */
enum { FUZZ_NOT_TAKEN = -1 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
