/* Which files `sift` knows: what each is, and where its harmless part goes in the private home. */
#pragma once

#include <stdbool.h>

/*    format   the end of its path          where it goes, from the home; ""    made once, and then the command's own
 *                                           means the same place                                                      */
#define SIFTED_FILES(X)                                                                                      \
    X(NPM, "/.npmrc", "", false)                                                                             \
    X(PIP, "/pip/pip.conf", "", false)                                                                       \
    X(PIP_OLD, "/.pip/pip.conf", "", false)                                                                  \
    X(NPM_SYSTEM, "/etc/npmrc", "/.npmrc-system", false)                                                     \
    X(PIP_SYSTEM, "/etc/pip.conf", "/.pip/pip.conf", false)                                                  \
    X(CARGO, "/.cargo/config.toml", "", false)                                                               \
    X(MAVEN, "/.m2/settings.xml", "", false)                                                                 \
    X(MAVEN_SYSTEM, "/etc/maven/settings.xml", "/.m2/settings.xml", false)                                   \
    X(NUGET, "/NuGet/NuGet.Config", "", false)                                                               \
    X(PNPM, "/pnpm/rc", "", false)                                                                           \
    X(UV, "/uv/uv.toml", "", false)                                                                          \
    X(YARN, "/.yarnrc.yml", "", false)                                                                       \
    X(BUN, "/.bunfig.toml", "", false)                                                                       \
    X(YARN_OLD, "/.yarnrc", "", false)                                                                       \
    X(POETRY, "/pypoetry/config.toml", "", false)                                                            \
    X(CONDA, "/.condarc", "", false)                                                                         \
    X(MISE, "/mise/config.toml", "", false)                                                                  \
    X(CLAUDE, "/.claude.json", "/.claude/.claude.json", true)

enum sifted {
    SIFTED_UNKNOWN,
#define X(id, end, destination, once) SIFTED_##id,
    SIFTED_FILES(X)
#undef X
};

enum sifted sifted_file(const char *path);

/* The place in the private home, with the home as "/"; NULL: the same as outside. */
const char *sifted_destination(enum sifted file);
bool sifted_is_made_once(enum sifted file);
