/* The files that `sift` knows: their formats, and where the harmless part goes in the private home. */
#pragma once

#include <stdbool.h>

#include "base/names.h"

/*    format   the end of its path          where it goes, from the home; ""    made once, and then the command's own
 *                                           means the same place                                                      */
#define SIFTED_FILES(X)                                                                                      \
    X(SIFTED_NPM, "/.npmrc", "", false)                                                                      \
    X(SIFTED_PIP, "/pip/pip.conf", "", false)                                                                \
    X(SIFTED_PIP_OLD, "/.pip/pip.conf", "", false)                                                           \
    X(SIFTED_NPM_SYSTEM, "/etc/npmrc", "/.npmrc-system", false)                                              \
    X(SIFTED_PIP_SYSTEM, "/etc/pip.conf", "/.pip/pip.conf", false)                                           \
    X(SIFTED_CARGO, "/.cargo/config.toml", "", false)                                                        \
    X(SIFTED_MAVEN, "/.m2/settings.xml", "", false)                                                          \
    X(SIFTED_MAVEN_SYSTEM, "/etc/maven/settings.xml", "/.m2/settings.xml", false)                            \
    X(SIFTED_NUGET, "/NuGet/NuGet.Config", "", false)                                                        \
    X(SIFTED_PNPM, "/pnpm/rc", "", false)                                                                    \
    X(SIFTED_UV, "/uv/uv.toml", "", false)                                                                   \
    X(SIFTED_YARN, "/.yarnrc.yml", "", false)                                                                \
    X(SIFTED_BUN, "/.bunfig.toml", "", false)                                                                \
    X(SIFTED_YARN_OLD, "/.yarnrc", "", false)                                                                \
    X(SIFTED_POETRY, "/pypoetry/config.toml", "", false)                                                     \
    X(SIFTED_CONDA, "/.condarc", "", false)                                                                  \
    X(SIFTED_MISE, "/mise/config.toml", "", false)                                                           \
    X(SIFTED_CLAUDE, "/.claude.json", "/.claude/.claude.json", true)

enum sifted { SIFTED_UNKNOWN, SIFTED_FILES(ID_OF) };

enum sifted sifted_file(const char *path);

/* The place of a file in the private home, with the home as "/"; NULL: the same as outside, as for what lies deeper in the home. */
const char *sifted_destination(const char *path, const char *home);
bool sifted_is_made_once(enum sifted file);
