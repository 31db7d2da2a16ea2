/*
 * Commits that came into being during the run and change flagged files. They stay, as nothing runs them yet: a checkout, a
 * merge or a push would. git is asked which they are; its answer is only told, and nothing is done because of it.
 */
#pragma once

#include "hold/flags.h"

void commits_look(struct flags *flags);
