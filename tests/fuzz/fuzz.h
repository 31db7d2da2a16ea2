/* What a fuzz target defines: libFuzzer calls it with inputs it invents, replay.c with those of the corpus. */
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
