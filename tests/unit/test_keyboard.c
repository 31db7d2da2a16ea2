/* What a terminal says by itself is no key, whole or in pieces; what a person types is one. */
#include "base/keyboard.h"

#include "base/attr.h"
#include "base/buf.h"
#include "base/text.h"
#include "unit.h"

struct heard {
    size_t keys, sequences;
    unsigned char last;
};

static struct heard hear(struct keyboard *keyboard, const char *bytes, size_t size)
{
    struct heard heard = {0};
    for (size_t i = 0; i < size; i++) {
        enum keyboard_event event = keyboard_take(keyboard, (unsigned char)bytes[i]);
        heard.keys += event == KEYBOARD_KEY;
        heard.sequences += event == KEYBOARD_SEQUENCE;
        heard.last = event == KEYBOARD_MORE ? heard.last : keyboard->key;
    }
    return heard;
}

TEST(answers_of_terminals_have_no_key_in_them_and_the_key_behind_them_is_one)
{
    static const char *const answers[] = {
        "\033P1$r1;80s\033\\",
        "\033P>|Konsole 23.08 once session\033\\",
        "\033P>|xterm.js(5.5.0)\033\\",
        "\033[?64;1;2;6;22s",
        "\033[>41;379;0c",
        "\033P!|00000000\033\\",
        "\033[0n",
        "\033[12;34R",
        "\033[?1;2$y",
        "\033]11;rgb:aaaa/ssss/oooo\033\\",
        "\033]11;rgb:aaaa/ssss/oooo\007",
        "\033]lsession \303\234so\033\\", /* half of a letter is the 8-bit end of a string */
        "\033]1337;ReportCellSize=17.5;8.0;2.0;so\033\\",
        "\033_Gi=31;so sorry\033\\",
        "\033^so\033\\",
        "\033Xso\033\\",
        "\220P1$rs\234", /* the 8-bit forms */
        "\302\220P1$rs\302\234",
        "\235so\234",
        "\233?0n",
        "\302\233?0n",
        "\033[Mso ",        /* a click */
        "\033[M\303\263so", /* and one far to the right, in UTF-8 */
        "\033[M \303\263\303\263",
        "\033[<0;115;111M",
        "\033[115u",
        "\033[[A",
        "\033[200~s\033[Ao\033[201~", /* what is pasted */
        "\033OA",
        "\033O2P",
        "\033Ps\033o\033[ns\033\\", /* nothing but its end ends a string */
        "\033Ps\030o\032n\007s\033\\",
        "\033s",
        "\303\263",
        "\360\237\230\200",
    };
    for (size_t i = 0; i < array_len(answers); i++) {
        struct keyboard keyboard = {0};
        struct heard heard = hear(&keyboard, answers[i], strlen(answers[i]));
        if (!CHECK_INT(heard.keys, 0) || !CHECK(keyboard.state == KEYBOARD_GROUND))
            printf("# answer %zu\n", i);
        heard = hear(&keyboard, "s", 1);
        CHECK_INT(heard.keys, 1);
        CHECK_INT(heard.last, 's');
    }
}

TEST(a_string_may_be_of_any_length)
{
    struct keyboard keyboard = {0};
    CHECK_INT(hear(&keyboard, "\033P", 2).keys, 0);
    for (int i = 0; i < 1000000; i++)
        CHECK_INT(hear(&keyboard, "os", 2).keys, 0);
    CHECK_INT(hear(&keyboard, "\033\\s", 3).keys, 1);
}

TEST(numbers_of_a_sequence_are_kept_and_do_not_overflow)
{
    struct keyboard keyboard = {0};
    hear(&keyboard, "\033[12;34R", 8);
    CHECK(keyboard.is_plain_csi && keyboard.key == 'R');
    CHECK_INT(keyboard.parameters[0], 12);
    CHECK_INT(keyboard.parameters[1], 34);
    hear(&keyboard, "\033[99999999999999999999;;;1;2;3R", 31);
    CHECK(keyboard.parameters[0] > KEYBOARD_PARAMETER_LARGEST);
    hear(&keyboard, "\033[?6~", 5);
    CHECK(!keyboard.is_plain_csi);
}

TEST(each_line_that_goes_on_has_a_mark)
{
    auto_buf struct buf out = {0};
    text_add_wrapped(&out, "short\nabcdefghijklmno\n", 8, "  | ");
    CHECK_STR(buf_text(&out), "short\nabcdefgh\n  | ijkl\n  | mno\n");
    out.size = 0;
    text_add_wrapped(&out, "\344\270\255\344\270\255\344\270\255\344\270\255\344\270\255", 8,
                     "> "); /* each two columns wide */
    CHECK_STR(buf_text(&out), "\344\270\255\344\270\255\344\270\255\344\270\255\n> \344\270\255");
}

UNIT_MAIN()
