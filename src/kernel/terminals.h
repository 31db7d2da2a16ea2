/* Terminals as the kernel numbers them. */
#pragma once

#include <stdint.h>

/* The number of an open terminal, also where it was opened as /dev/tty; 0: it is none. */
uint64_t terminal_number(int fd);

/* The number of this process's controlling terminal; 0: it has none. */
uint64_t terminal_number_own(void);
