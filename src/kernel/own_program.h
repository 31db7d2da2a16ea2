/*
 * bawn and the programs that are installed with it. They start here; a program of the user's starts in outside/, the command in launch/, and
 * tools/check-banned finds any other start.
 */
#pragma once

/* bawn itself, as it runs. */
#define OWN_PROGRAM "/proc/self/exe"

/* Becomes OWN_PROGRAM, or the program that libexec_find or process_own_path found. Returns only if that fails, with errno. */
void own_program_become(const char *path, const char *const *words, const char *const *environment);
