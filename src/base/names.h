/*
 * Enumerations whose values have names. A macro LIST(X) lists them, one X(ID, "name", "title", …) for each value. The
 * enumeration and the texts are both made from it, so that they cannot differ.
 */
#pragma once

#define FIRST_OF(first, ...)    first,
#define ID_OF(id, ...)          id,
#define NAME_OF(id, ...)        FIRST_OF(__VA_ARGS__, )
#define TITLE_OF(id, name, ...) FIRST_OF(__VA_ARGS__, )

/* Defines the function that returns one text of a value (NAME_OF or TITLE_OF). The enumeration begins with the list. */
#define DEFINE_TEXTS(function, type, LIST, TEXT_OF)                                                          \
    const char *function(type value)                                                                         \
    {                                                                                                        \
        static const char *const texts[] = {LIST(TEXT_OF)};                                                  \
        return texts[value];                                                                                 \
    }
