/* The page's server: its own walls on this machine's kernel, each act tried without them first; messages to the actor; the writer of HTML. */
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/landlock.h"
#include "unit.h"
#include "walled.h"
#include "web/visit.h"

static char folder[] = "/tmp/bawn-web-walls-XXXXXX";
static char state_file[128], planted[128];
static struct web_place place = {.state = folder, .store = folder};

/* Children leave with _exit(), and remove nothing. */
static void tidy_up(void)
{
    char state[64];
    snprintf(state, sizeof(state), "%s/bawn", folder);
    unlink(state_file);
    unlink(planted);
    rmdir(state);
    rmdir(folder);
}

static void prepare(void)
{
    static bool is_prepared;
    char state[64];
    if (is_prepared)
        return;
    REQUIRE(mkdtemp(folder));
    snprintf(state, sizeof(state), "%s/bawn", folder);
    snprintf(state_file, sizeof(state_file), "%s/bawn/record", folder);
    snprintf(planted, sizeof(planted), "%s/bawn/planted", folder);
    REQUIRE(mkdir(state, 0700) == 0);
    int fd = open(state_file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0);
    close(fd);
    is_prepared = atexit(tidy_up) == 0;
}

static int enter(struct err *err)
{
    return web_sandbox_enter(&place, err);
}

static int outcome(int (*act)(void), bool is_locked_in)
{
    return outcome_behind(is_locked_in ? enter : NULL, act);
}

static int read_state(void)
{
    return errno_of(open(state_file, O_RDONLY | O_CLOEXEC));
}

static int read_passwd(void)
{
    return errno_of(open("/etc/passwd", O_RDONLY | O_CLOEXEC));
}

static int write_state(void)
{
    return errno_of(open(state_file, O_WRONLY | O_CLOEXEC));
}

static int plant(void)
{
    return errno_of(open(planted, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

static int unlink_nothing(void)
{
    return unlink("/nonexistent") < 0 && errno == ENOENT ? 0 : errno;
}

static int open_socket(void)
{
    return errno_of(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int start_process(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    return errno_of(child);
}

static int run_program(void)
{
    execl("/bin/true", "true", NULL);
    return errno;
}

static int signal_parent(void)
{
    return errno_of(kill(getppid(), 0));
}

static int trace(void)
{
    return errno_of(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

TEST(the_server_reads_bawns_state_and_no_other_file)
{
    prepare();
    CHECK_INT(outcome(read_state, false), 0);
    CHECK_INT(outcome(read_passwd, false), 0);
    CHECK_INT(outcome(read_state, true), 0);
    CHECK_INT(outcome(read_passwd, true), EACCES);
}

TEST(the_server_writes_makes_and_removes_no_file)
{
    prepare();
    CHECK_INT(outcome(write_state, false), 0);
    CHECK_INT(outcome(plant, false), 0);
    CHECK_INT(outcome(unlink_nothing, false), 0);
    CHECK_INT(outcome(write_state, true), EACCES);
    CHECK_INT(outcome(plant, true), EACCES);
    CHECK_INT(outcome(unlink_nothing, true), EPERM);
}

TEST(the_server_opens_no_socket_and_starts_nothing)
{
    prepare();
    CHECK_INT(outcome(open_socket, false), 0);
    CHECK_INT(outcome(start_process, false), 0);
    CHECK_INT(outcome(run_program, false), 0);
    CHECK_INT(outcome(signal_parent, false), 0);
    CHECK_INT(outcome(trace, false), 0);
    CHECK_INT(outcome(open_socket, true), EPERM);
    CHECK_INT(outcome(start_process, true), EPERM);
    CHECK_INT(outcome(run_program, true), EPERM);
    CHECK_INT(outcome(signal_parent, true), EPERM);
    CHECK_INT(outcome(trace, true), EPERM);
}

/* --- messages to the actor -------------------------------------------------------------------------------------------- */

/* The words of the verb with spaces between them, or why the message was refused. */
static const char *parse(struct arena *arena, uint32_t act, uint32_t count, const char *arguments,
                         size_t size)
{
    auto_buf struct buf message = {0}, words = {0};
    const struct act_head head = {.number = 1, .act = act, .count = count};
    struct act_order order = {0};
    struct err err = {0};
    buf_add(&message, (const char *)&head, sizeof(head));
    buf_add(&message, arguments, size);
    if (act_parse(arena, message.bytes, message.size, &order, &err) < 0)
        return arena_str(arena, err.message);
    for (size_t i = 0; i < order.words.count; i++)
        buf_printf(&words, "%s%s", i ? " " : "", order.words.at[i]);
    act_order_free(&order);
    return arena_str(arena, buf_text(&words));
}
#define PARSE(act, count, literal) parse(&arena, act, count, literal, sizeof(literal))

TEST(a_piece_ends_where_a_letter_does)
{
    static const char text[] = "ab\xC3\xA9"
                               "cd",
                      broken[] = "\x80\x80\x80\x80\x80\x80\x80\x80";
    CHECK(html_piece(text, 6, 6) == 6);
    CHECK(html_piece(text, 6, 4) == 4);
    CHECK(html_piece(text, 6, 3) == 2);
    CHECK(html_piece(text, 6, 2) == 2);
    CHECK(html_piece(broken, 8, 6) == 6); /* no letter: a piece is never empty */
    CHECK(html_piece(broken, 8, 1) == 1);
}

TEST(an_act_becomes_the_words_of_its_verb)
{
    auto_arena struct arena arena = {0};
    CHECK_STR(PARSE(ACT_REVIEW, 1, "app-1"), "review --json app-1");
    CHECK_STR(PARSE(ACT_DIFF, 1, "app-1"), "diff app-1");
    CHECK_STR(PARSE(ACT_SCREEN, 2, "/srv\0claude"), "show -- claude");
    CHECK_STR(PARSE(ACT_ALLOW, 2, "app-1\0a.example:443"), "allow --session @app-1 a.example:443");
    CHECK_STR(PARSE(ACT_ANSWER, 2, "app-1/2\0never"), "answer app-1/2 never");
    CHECK_STR(PARSE(ACT_WHY, 3, "/srv\0~/.ssh\0claude"), "why ~/.ssh -- claude");
    CHECK_STR(PARSE(ACT_CHECK, 3, "/srv\0claude\0read /a b\nnet off"),
              "check --agent claude --read /a b --net off -- true");
    CHECK_STR(PARSE(ACT_PROVE, 2, "/srv\0claude"), "prove --follow --json --report REPORT -- claude");
}

TEST(an_argument_that_could_be_a_flag_or_a_path_is_refused)
{
    auto_arena struct arena arena = {0};
    static const char kind[] = "an argument is not of its kind";
    CHECK_STR(PARSE(ACT_REVIEW, 1, "--from"), kind);
    CHECK_STR(PARSE(ACT_REVIEW, 1, "../x"), kind);
    CHECK_STR(PARSE(ACT_REVIEW, 1, ""), kind);
    CHECK_STR(PARSE(ACT_DIFF, 1, "--json"), kind);
    CHECK_STR(PARSE(ACT_ALLOW, 2, "app-1\0--always"), kind);
    CHECK_STR(PARSE(ACT_ALLOW, 2, "app-1\0a b"), kind);
    CHECK_STR(PARSE(ACT_ANSWER, 2, "app-1/2\0yes"), kind);
    CHECK_STR(PARSE(ACT_ANSWER, 2, "a/b/2\0no"), kind);
    CHECK_STR(PARSE(ACT_WHY, 3, "srv\0x\0claude"), kind);
    CHECK_STR(PARSE(ACT_WHY, 3, "/srv\0--json\0claude"), kind);
    CHECK_STR(PARSE(ACT_SHOW, 2, "/srv\0a;b"), kind);
    CHECK_STR(PARSE(ACT_CHECK, 3, "/srv\0claude\0policy /x"), kind);
    CHECK_STR(PARSE(ACT_CHECK, 3, "/srv\0claude\0read"), kind);
    CHECK_STR(PARSE(ACT_CHECK, 3, "/srv\0claude\0read --policy"), kind);
    CHECK_STR(PARSE(ACT_DRAFT, 4, "/srv\0admin\0claude\0read /a"), kind);
    CHECK_STR(PARSE(ACT_SAVE, 5, "/srv\0user\0claude\0abc\0read /a"), kind);
}

TEST(a_message_with_another_number_of_arguments_or_act_is_refused)
{
    auto_arena struct arena arena = {0};
    CHECK_STR(PARSE(ACT_COUNT, 1, "x"), "there is no such act");
    CHECK_STR(PARSE(ACT_REVIEW, 2, "a\0b"), "there is no such act");
    CHECK_STR(PARSE(ACT_REVIEW, 1, "a\0b"), "the message is too long");
    CHECK_STR(parse(&arena, ACT_REVIEW, 1, "a", 1), "an argument is not of its kind");
    struct act_order order = {0};
    struct err err = {0};
    CHECK_INT(act_parse(&arena, "x", 1, &order, &err), -1);
}

/* --- forms and pages ---------------------------------------------------------------------------------------------------- */

TEST(a_value_is_escaped_wherever_it_enters_a_page)
{
    auto_html struct html page = {0};
    html_add(&page, "<b title=\"%s\">%zu%%</b>", "<i>\"'&\n\x1b\xff", (size_t)7);
    html_add_bytes(&page, "<\t>\0", 4);
    CHECK_STR(buf_text(&page.out),
              "<b title=\"&lt;i&gt;&quot;&#39;&amp;\\x0a\\x1b\\xff\">7%</b>&lt;\t&gt;\\x00");
}

TEST(a_form_is_taken_apart_strictly)
{
    auto_arena struct arena arena = {0};
    auto_vec form_list fields = {0}, none = {0};
    REQUIRE(form_parse(&arena, "a=1&b=%3Cx+y%3e&c=", 18, &fields));
    CHECK_INT(fields.count, 3);
    CHECK_STR(fields.at[1].value, "<x y>");
    CHECK_STR(fields.at[2].value, "");
    CHECK(!form_parse(&arena, "a=%4", 4, &none));
    CHECK(!form_parse(&arena, "a=%zz", 5, &none));
    CHECK(!form_parse(&arena, "a=%00", 5, &none));
    CHECK(!form_parse(&arena, "a", 1, &none));
}

TEST(a_part_of_an_address_has_only_plain_characters)
{
    auto_arena struct arena arena = {0};
    CHECK_STR(url_part(&arena, "a-1/..?x=\"&#% \xc3"), "a-1%2F..%3Fx%3D%22%26%23%25%20%C3");
}

UNIT_MAIN()
