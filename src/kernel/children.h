/* The processes that a process has started, as /proc tells. They may have ended by the time that somebody looks at them. */
#pragma once

#include <sys/types.h>

#include "base/vec.h"

typedef VEC(pid_t) process_list;

/* Adds those that any of its threads started, until there are `most` in the list. */
void children_add(process_list *processes, pid_t process, size_t most);

/* The state as /proc/PID/stat has it: 'R', 'S', 'T' …; '\0' where there is no such process. */
char process_state(pid_t process);
