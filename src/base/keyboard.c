#include "base/keyboard.h"

enum { ESCAPE = 0x1b, BELL = 0x07, STRING_END = 0x9c, CLICK_CHARACTERS = 3, C1_LEAD = 0xc2 };

/* How many bytes follow the first one of a character in UTF-8. */
static unsigned following_of(unsigned char lead)
{
    return lead >= 0xf0 && lead < 0xf8 ? 3 : lead >= 0xe0 && lead < 0xf0 ? 2 : lead >= 0xc0 && lead < 0xe0;
}

static bool is_continuation(unsigned char byte)
{
    return byte >= 0x80 && byte < 0xc0;
}

static enum keyboard_event end(struct keyboard *keyboard, enum keyboard_event event, unsigned char key)
{
    keyboard->state = KEYBOARD_GROUND;
    keyboard->key = key;
    keyboard->following = 0;
    keyboard->lead = 0;
    return event;
}

static enum keyboard_event begin_string(struct keyboard *keyboard, bool ends_with_bell, bool is_8bit)
{
    keyboard->state = KEYBOARD_STRING;
    keyboard->ends_with_bell = ends_with_bell;
    keyboard->is_8bit = is_8bit;
    return KEYBOARD_MORE;
}

static enum keyboard_event begin_csi(struct keyboard *keyboard)
{
    keyboard->state = KEYBOARD_CSI;
    keyboard->is_plain_csi = true;
    keyboard->parameter_count = 0;
    for (size_t i = 0; i < KEYBOARD_PARAMETERS; i++)
        keyboard->parameters[i] = 0;
    return KEYBOARD_MORE;
}

/* The byte after ESC; an 8-bit form is the same with 0x40 more. */
static enum keyboard_event introduce(struct keyboard *keyboard, unsigned char byte, bool is_8bit)
{
    keyboard->is_plain_csi = false;
    keyboard->following = 0;
    keyboard->lead = 0;
    switch (byte) {
    case '[':
        return begin_csi(keyboard);
    case 'O':
        keyboard->state = KEYBOARD_SS3;
        return KEYBOARD_MORE;
    case ']':
        return begin_string(keyboard, true, is_8bit);
    case 'P':
    case 'X':
    case '^':
    case '_':
        return begin_string(keyboard, false, is_8bit);
    case ESCAPE:
        keyboard->state = KEYBOARD_ESCAPE;
        return KEYBOARD_MORE;
    default: /* a key with Alt, or a sequence of two bytes */
        return end(keyboard, KEYBOARD_SEQUENCE, 0);
    }
}

static enum keyboard_event take_in_ground(struct keyboard *keyboard, unsigned char byte)
{
    if (keyboard->following && is_continuation(byte)) {
        bool is_c1 = keyboard->lead == C1_LEAD && byte < 0xa0;
        keyboard->lead = 0;
        if (is_c1)
            return introduce(keyboard, byte - 0x40, true);
        return --keyboard->following ? KEYBOARD_MORE : end(keyboard, KEYBOARD_SEQUENCE, 0);
    }
    keyboard->following = 0;
    keyboard->is_plain_csi = false;
    if (byte == ESCAPE) {
        keyboard->state = KEYBOARD_ESCAPE;
        return KEYBOARD_MORE;
    }
    if (byte < 0x80)
        return end(keyboard, KEYBOARD_KEY, byte);
    if (byte < 0xa0)
        return introduce(keyboard, byte - 0x40, true);
    keyboard->lead = byte;
    keyboard->following = following_of(byte);
    return keyboard->following ? KEYBOARD_MORE : end(keyboard, KEYBOARD_SEQUENCE, 0);
}

static enum keyboard_event take_in_csi(struct keyboard *keyboard, unsigned char byte)
{
    size_t last = keyboard->parameter_count ? keyboard->parameter_count - 1 : 0;
    if (byte >= '0' && byte <= '9') {
        keyboard->parameter_count += !keyboard->parameter_count;
        uint32_t *number = last < KEYBOARD_PARAMETERS ? &keyboard->parameters[last] : NULL;
        if (number && *number <= KEYBOARD_PARAMETER_LARGEST)
            *number = *number * 10 + (byte - '0');
    } else if (byte == ';') {
        keyboard->parameter_count += keyboard->parameter_count ? 1 : 2;
    } else if (byte == ESCAPE) {
        keyboard->state = KEYBOARD_ESCAPE;
    } else if (byte >= 0x40 && byte < 0x7f) {
        bool is_bare = keyboard->is_plain_csi && !keyboard->parameter_count;
        keyboard->skipped = !is_bare ? 0 : byte == 'M' ? CLICK_CHARACTERS : byte == '[';
        enum keyboard_event event = end(keyboard, KEYBOARD_SEQUENCE, byte);
        if (!keyboard->skipped)
            return event;
        keyboard->state = KEYBOARD_SKIP;
    } else {
        keyboard->is_plain_csi = false;
    }
    return KEYBOARD_MORE;
}

/* A click's coordinate may be a letter of two bytes. */
static enum keyboard_event take_of_click(struct keyboard *keyboard, unsigned char byte)
{
    if (keyboard->following && is_continuation(byte))
        keyboard->following--;
    else
        keyboard->following = following_of(byte);
    if (keyboard->following)
        return KEYBOARD_MORE;
    return --keyboard->skipped ? KEYBOARD_MORE : end(keyboard, KEYBOARD_SEQUENCE, 0);
}

static enum keyboard_event take_in_string(struct keyboard *keyboard, unsigned char byte)
{
    bool is_inside_letter = keyboard->following && is_continuation(byte),
         is_c1 = is_inside_letter && keyboard->lead == C1_LEAD;
    keyboard->following = is_inside_letter ? keyboard->following - 1 : following_of(byte);
    keyboard->lead = is_inside_letter ? 0 : byte;
    if (keyboard->is_8bit && byte == STRING_END && (!is_inside_letter || is_c1))
        return end(keyboard, KEYBOARD_SEQUENCE, 0);
    if (byte == BELL && keyboard->ends_with_bell)
        return end(keyboard, KEYBOARD_SEQUENCE, 0);
    keyboard->state = byte == ESCAPE ? KEYBOARD_STRING_ESCAPE : KEYBOARD_STRING;
    return KEYBOARD_MORE;
}

static enum keyboard_event take(struct keyboard *keyboard, unsigned char byte)
{
    switch (keyboard->state) {
    case KEYBOARD_ESCAPE:
        return introduce(keyboard, byte, false);
    case KEYBOARD_CSI:
        return take_in_csi(keyboard, byte);
    case KEYBOARD_SS3:
        if (byte == ESCAPE)
            return introduce(keyboard, byte, false);
        if (byte >= '0' && byte <= '9') /* a modifier */
            return KEYBOARD_MORE;
        return end(keyboard, KEYBOARD_SEQUENCE, byte);
    case KEYBOARD_STRING_ESCAPE:
        if (byte == '\\')
            return end(keyboard, KEYBOARD_SEQUENCE, 0);
        return take_in_string(keyboard, byte);
    case KEYBOARD_STRING:
        return take_in_string(keyboard, byte);
    case KEYBOARD_SKIP:
        return take_of_click(keyboard, byte);
    case KEYBOARD_GROUND:
        break;
    }
    return take_in_ground(keyboard, byte);
}

/* What is pasted stands between two sequences, and is no key. */
enum keyboard_event keyboard_take(struct keyboard *keyboard, unsigned char byte)
{
    enum { PASTE_BEGINS = 200, PASTE_ENDS = 201 };
    enum keyboard_event event = take(keyboard, byte);
    bool is_mark = event == KEYBOARD_SEQUENCE && keyboard->is_plain_csi && keyboard->key == '~';
    if (is_mark && keyboard->parameters[0] == PASTE_BEGINS)
        keyboard->is_pasted = true;
    else if (is_mark && keyboard->parameters[0] == PASTE_ENDS)
        keyboard->is_pasted = false;
    if (event != KEYBOARD_KEY || !keyboard->is_pasted)
        return event;
    keyboard->key = 0;
    return KEYBOARD_SEQUENCE;
}
