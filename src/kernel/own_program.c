#include "kernel/own_program.h"

#include <unistd.h>

void own_program_become(const char *path, const char *const *words, const char *const *environment)
{
    execve(path, (char *const *)words, (char *const *)environment);
}
