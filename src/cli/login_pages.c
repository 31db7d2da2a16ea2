#include "cli/login_pages.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/url.h"
#include "cli/answer.h"
#include "cli/say.h"
#include "journal/session.h"
#include "session/hook.h"
#include "supervise/control.h"

enum { OFFERS_MOST = 8, SHOWN_LONGEST = 200 };

static const char usual_browser[] = "/usr/bin/xdg-open";

static bool is_offered(const struct login *login, const char *page, size_t size)
{
    for (size_t i = 0; i < login->offered.count; i++) {
        if (strlen(login->offered.at[i]) == size && memcmp(login->offered.at[i], page, size) == 0)
            return true;
    }
    return false;
}

/* Is it an https page on a host of this login? */
static bool is_page_of_login(const struct login *login, const char *text, size_t size, struct url *ret_url)
{
    if (!url_parse(text, size, ret_url))
        return false;
    for (size_t i = 0; i < login->hosts.count; i++) {
        if (url_has_host(ret_url, login->hosts.at[i]))
            return true;
    }
    return false;
}

/* Asks, and waits for the answer or for an ending signal. */
/* bawn was asked to end while the question is shown: the signal stays for login_attend(). */
static bool is_wanted(void *context)
{
    const struct login *login = context;
    struct pollfd ended = {.fd = login->signal_fd, .events = POLLIN};
    return poll(&ended, 1, 0) == 0;
}

static bool hears_yes(struct login *login, const char *line)
{
    return answer_yes(
        login->world,
        &(struct answer_question){
            .text = "", .line = line, .is_open = is_wanted, .context = login, .wake_fd = login->signal_fd});
}

static int publish(const struct login *login, uint16_t port, struct err *err)
{
    const char *session = session_latest(login->arena, login->state, login->folder);
    if (!session)
        return err_set(err, "the session that runs the login cannot be found");
    return control_ask(arena_printf(login->arena, "%s/bawn/sessions/%s", login->state, session),
                       arena_printf(login->arena, "publish %u %u", port, port), err);
}

/* The answer comes to this machine's localhost: a browser elsewhere needs a way to it. */
static const char *how_to_open(const struct login *login, const struct url *url)
{
    static const char here[] = "open it yourself in a browser on this machine";
    return url->answer_port
               ? arena_printf(login->arena,
                              "%s; or on another one after `ssh -L %u:127.0.0.1:%u THIS-MACHINE` there", here,
                              url->answer_port, url->answer_port)
               : here;
}

static void open_page(const struct login *login, const char *page, const struct url *url)
{
    const char *named = caller_variable(&login->world->caller, "BAWN_BROWSER");
    const char *browser = named && *named == '/' ? named : usual_browser;
    const char *const program[] = {browser, page, NULL};
    struct hook hook = {.program = program};
    if (access(browser, X_OK) < 0)
        say_problem(login->world, arena_printf(login->arena, "cannot open the page: there is no %s", browser),
                    how_to_open(login, url));
    else
        hook_start(&login->world->caller, &hook);
}

/* Shows the page, asks, publishes the port for its answer, opens it. The address has only plain characters. */
static void offer(struct login *login, const char *page, const struct url *url)
{
    const struct world *world = login->world;
    vec_push(&login->offered, page);
    fprintf(world->out, "%s wants to open this page in your browser:\n  %s\n", login->agent, page);
    if (url->answer_port)
        fprintf(world->out,
                "The answer comes back through 127.0.0.1:%u, which is open until the login is over.\n",
                url->answer_port);
    fflush(world->out);
    struct err err = {0};
    if (login->asks && !hears_yes(login, "Open it? [y/N] ")) {
        if (is_wanted(login)) /* not Ctrl-C */
            fprintf(world->out, "Not opened. %s waits for its answer: Ctrl-C ends the login.\n",
                    login->agent);
        fflush(world->out);
        return;
    }
    if (url->answer_port && publish(login, url->answer_port, &err) < 0)
        say_err(world, &err);
    else
        open_page(login, page, url);
}

void login_hear_page(struct login *login, const char *text, size_t size)
{
    struct url url;
    if (login->offered.count == OFFERS_MOST || is_offered(login, text, size))
        return;
    const char *page = arena_copy(login->arena, text, size);
    if (is_page_of_login(login, page, size, &url)) {
        offer(login, page, &url);
        return;
    }
    auto_buf struct buf shown = {0};
    text_add_printable(&shown, text, size < SHOWN_LONGEST ? size : SHOWN_LONGEST);
    vec_push(&login->offered, page);
    say_problem(login->world,
                arena_printf(login->arena, "%s wanted to open a page that does not belong to its login: %s",
                             login->agent, buf_text(&shown)),
                "it was not opened");
}

void login_hear_line(struct login *login, const char *text, size_t size)
{
    auto_buf struct buf shown = {0};
    buf_printf(&shown, "%s: ", login->agent);
    text_add_printable(&shown, text, size);
    buf_add_char(&shown, '\n');
    put(login->world->out, &shown);
    fflush(login->world->out);
    const char *start = memmem(text, size, "https://", strlen("https://"));
    struct url url;
    size_t span = start ? url_span(start, size - (size_t)(start - text)) : 0;
    if (start && is_page_of_login(login, start, span, &url) && url.answer_port)
        login_hear_page(login, start, span);
}
