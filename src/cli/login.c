#include "cli/login.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "base/url.h"
#include "cli/say.h"
#include "journal/session.h"
#include "kernel/process.h"
#include "session/hook.h"
#include "supervise/control.h"

enum { LINE_LONGEST = 2 * URL_LONGEST, OFFERS_MOST = 8, SHOWN_LONGEST = 200 };

/* Not looked for along PATH: a folder of it may be one that was written inside. */
static const char usual_browser[] = "/usr/bin/xdg-open";

/* What stands inside in the place of a browser: it hands the address out. */
static const char messenger[] = "#!/bin/sh\n"
                                "for page; do :; done\n" /* the last word; flags may stand before it */
                                "printf '%s\\n' \"$page\" >\"${0%/*}/pages\"\n";

int login_furnish(struct login *login, struct err *err)
{
    auto_fd int folder_fd = open(login->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    auto_fd int file_fd = folder_fd < 0 ? -1
                                        : openat(folder_fd, "xdg-open",
                                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0700);
    ssize_t size = (ssize_t)strlen(messenger);
    if (file_fd < 0 || write(file_fd, messenger, (size_t)size) != size ||
        mkfifoat(folder_fd, "pages", 0600) < 0)
        return err_sys(err, errno, "cannot prepare %s", login->folder);
    /* Both ends, so that it never seems to be closed. */
    login->page_fd = openat(folder_fd, "pages", O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    return login->page_fd < 0 ? err_sys(err, errno, "cannot open %s/pages", login->folder) : 0;
}

static bool is_offered(const struct login *login, const char *page, size_t size)
{
    for (size_t i = 0; i < login->offered.count; i++) {
        if (strlen(login->offered.at[i]) == size && memcmp(login->offered.at[i], page, size) == 0)
            return true;
    }
    return false;
}

/* Is it a page of this login? */
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

/* Waits for the answer, or for a signal that ends all of it. */
static bool hears_yes(const struct login *login, const char *question)
{
    int in = fileno(login->world->in);
    tcflush(in, TCIFLUSH); /* what was typed before the question is no answer to it */
    ask_begin(login->world, question);
    struct pollfd ready[] = {{.fd = in, .events = POLLIN}, {.fd = login->signal_fd, .events = POLLIN}};
    int count;
    do {
        count = poll(ready, array_len(ready), -1);
    } while (count < 0 && errno == EINTR);
    return !ready[1].revents && ask_end(login->world);
}

static int publish(const struct login *login, uint16_t port, struct err *err)
{
    const char *session = session_latest(login->arena, login->state, login->folder);
    if (!session)
        return err_set(err, "the session that runs the login cannot be found");
    return control_ask(arena_printf(login->arena, "%s/bawn/sessions/%s", login->state, session),
                       arena_printf(login->arena, "publish %u %u", port, port), err);
}

static void open_page(const struct login *login, const char *page)
{
    const char *named = caller_variable(&login->world->caller, "BAWN_BROWSER");
    const char *browser = named && *named == '/' ? named : usual_browser;
    const char *const program[] = {browser, page, NULL};
    struct hook hook = {.program = program};
    if (access(browser, X_OK) < 0)
        say_problem(login->world,
                    arena_printf(login->arena, "there is no %s that could open the page", browser),
                    "open it yourself, on this machine");
    else
        hook_start(&login->world->caller, &hook);
}

/* Shows the page, asks, lets its answer in, opens it. The text has plain characters alone. */
static void offer(struct login *login, const char *page, const struct url *url)
{
    const struct world *world = login->world;
    vec_push(&login->offered, page);
    fprintf(world->out, "%s wants to open this page in your browser:\n  %s\n", login->agent, page);
    if (url->answer_port)
        fprintf(world->out, "Its answer comes to 127.0.0.1:%u, which leads inside until the login is over.\n",
                url->answer_port);
    fflush(world->out);
    struct err err = {0};
    if (login->asks && !hears_yes(login, "Open it?")) {
        fputs("Not opened.\n", world->out);
        return;
    }
    if (url->answer_port && publish(login, url->answer_port, &err) < 0)
        say_err(world, &err);
    else
        open_page(login, page);
}

/* An address that was to be opened. */
static void hear_page(struct login *login, const char *text, size_t size)
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
                arena_printf(login->arena, "%s wanted to open something that is no page of its login: %s",
                             login->agent, buf_text(&shown)),
                "it was not opened");
}

/* A line of the program's own. A page in it that sends its answer here is one that no browser was started for. */
static void hear_line(struct login *login, const char *text, size_t size)
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
        hear_page(login, start, span);
}

/* Takes what there is to read, line by line. Returns false at its end. */
static bool hear(struct login *login, int fd, struct buf *line,
                 void (*take)(struct login *, const char *, size_t))
{
    char bytes[4096];
    ssize_t size = read(fd, bytes, sizeof(bytes));
    if (size < 0)
        return errno == EINTR || errno == EAGAIN;
    for (ssize_t i = 0; i < size; i++) {
        if (bytes[i] != '\n' && line->size < LINE_LONGEST) {
            buf_add_char(line, bytes[i]);
            continue;
        }
        take(login, buf_text(line), line->size);
        line->size = 0;
    }
    if (size == 0 && line->size)
        take(login, buf_text(line), line->size);
    return size > 0;
}

int login_attend(struct login *login)
{
    struct pollfd ready[] = {{.fd = login->output_fd, .events = POLLIN},
                             {.fd = login->page_fd, .events = POLLIN},
                             {.fd = login->signal_fd, .events = POLLIN}};
    bool goes_on = true;
    while (goes_on) {
        if (poll(ready, array_len(ready), -1) < 0)
            continue;
        if (ready[2].revents) {
            kill(login->child, SIGTERM); /* it ends what it runs; its output then comes to an end */
            ready[2].fd = -1;
            ready[1].fd = -1;
        }
        if (ready[1].revents && ready[1].fd >= 0)
            goes_on = hear(login, login->page_fd, &login->page, hear_page);
        if (ready[0].revents)
            goes_on = hear(login, login->output_fd, &login->output, hear_line);
    }
    return process_wait(login->child);
}

void login_free(struct login *login)
{
    const int fds[] = {login->output_fd, login->page_fd, login->signal_fd};
    for (size_t i = 0; i < array_len(fds); i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
    buf_free(&login->output);
    buf_free(&login->page);
    vec_free(&login->offered);
}
