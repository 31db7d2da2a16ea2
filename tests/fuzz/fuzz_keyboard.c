/* Any bytes from a terminal: whatever lies in a control string is no key, and the key behind its end is one. */
#include <stdlib.h>

#include "base/keyboard.h"
#include "fuzz.h"

static size_t keys;

static void take(struct keyboard *keyboard, unsigned char byte)
{
    keys += keyboard_take(keyboard, byte) == KEYBOARD_KEY;
}

static void take_text(struct keyboard *keyboard, const char *text)
{
    while (*text)
        take(keyboard, (unsigned char)*text++);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct keyboard keyboard = {0};
    bool is_osc = size && bytes[0] & 1;
    take_text(&keyboard, is_osc ? "\033]" : "\033P");
    keys = 0;
    for (size_t i = 0; i < size; i++) {
        bool ends = (bytes[i] == '\\' && i && bytes[i - 1] == 0x1b) || (is_osc && bytes[i] == 0x07);
        take(&keyboard, ends ? 's' : bytes[i]);
    }
    take_text(&keyboard, "s\033\\");
    if (keys != 0 || keyboard.state != KEYBOARD_GROUND)
        abort();
    take(&keyboard, 's');
    if (keys != 1 || keyboard.key != 's')
        abort();
    /* By itself: no state is left, and no count runs over. */
    keyboard = (struct keyboard){0};
    for (size_t i = 0; i < size; i++)
        take(&keyboard, bytes[i]);
    if (keyboard.following > 3 || keyboard.skipped > 3 || keyboard.state > KEYBOARD_SKIP)
        abort();
    return 0;
}
