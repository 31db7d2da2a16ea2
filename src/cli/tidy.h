/* Whatever is run of bawn first puts right what a killed bawn left behind, and says so. */
#pragma once

#include "cli/world.h"

void tidy_up(const struct world *world);

/* `bawn sessions --repair`: tries again what was set aside. Returns the exit status. */
int tidy_again(const struct world *world);
