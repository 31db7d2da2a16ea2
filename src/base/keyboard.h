/*
 * What comes from a terminal: the keys of a person, and what the terminal says by itself. A terminal answers queries with control strings, and any
 * program that can write to it can make it answer. Such a string is taken as a whole, however long it is, so that no byte in it looks like a key.
 *
 *   ESC [ … final          CSI. Three characters follow `ESC [ M` (a click of the mouse), and one follows `ESC [ [` (the Linux console's F1)
 *   ESC O final            SS3: arrows and function keys
 *   ESC P, ], _, ^, X …    DCS, OSC, APC, PM, SOS: to their end, ESC \ or its 8-bit form; of OSC also BEL. Nothing else ends one
 *   0x80 to 0x9f           the 8-bit forms of these, alone or in UTF-8
 *
 * Between CSI 200~ and CSI 201~ nothing is a key: it was pasted.
 *
 * A string that begins in 7 bits ends in 7 bits: in its text 0x9c may be half a letter. Characters beyond ASCII are no keys.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum keyboard_state {
    KEYBOARD_GROUND, /* between two keys */
    KEYBOARD_ESCAPE,
    KEYBOARD_CSI,
    KEYBOARD_SS3,
    KEYBOARD_STRING,
    KEYBOARD_STRING_ESCAPE,
    KEYBOARD_SKIP, /* characters that belong to a click */
};

enum keyboard_event {
    KEYBOARD_MORE,     /* nothing is complete */
    KEYBOARD_KEY,      /* `key`: a byte of ASCII */
    KEYBOARD_SEQUENCE, /* a control sequence or a string is complete, or a character that is no key. Of CSI and SS3 `key` is the final byte */
};

enum { KEYBOARD_PARAMETERS = 2, KEYBOARD_PARAMETER_LARGEST = 99999 };

/* All zero: nothing has come yet. */
struct keyboard {
    enum keyboard_state state;
    unsigned char key;
    bool is_plain_csi; /* the sequence is CSI, and has nothing but numbers before its final byte */
    uint32_t parameters[KEYBOARD_PARAMETERS]; /* of CSI: its first numbers. One that is missing is 0 */
    size_t parameter_count;
    bool ends_with_bell, is_8bit; /* of the string */
    unsigned char lead;           /* 0xc2 was read, which begins an 8-bit form in UTF-8 */
    unsigned following;           /* bytes that the character has yet */
    unsigned skipped;             /* characters that the click has yet */
    bool is_pasted;
};

enum keyboard_event keyboard_take(struct keyboard *keyboard, unsigned char byte);
