/*
 * The words of a shell command that stands in git's configuration. They are read to find the files that such a command runs. What a shell
 * would make of variables is not known here: the words around them are given as far as they are text.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/vec.h"

struct git_word {
    const char *text; /* without quotes; "./x" for "$PWD/x" and "~/x" for "$HOME/x" */
    const char *
        key; /* of a setting that the command gives to git (`git -c KEY=VALUE`), whose value is `text`; otherwise NULL.
                         "": the value is in a variable (`--config-env`), and `text` is the key */
    bool is_command; /* it stands where a command's name does: without a slash, it is looked for in PATH */
    bool
        may_be_made; /* it looks like the path of a program or script, so a missing file of that name counts, too */
};

typedef VEC(struct git_word) git_words;

/* Adds the words of a command, also those of commands that stand in quotes. */
void git_command_words(struct arena *arena, const char *command, git_words *words);
