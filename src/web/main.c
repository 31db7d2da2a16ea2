/* bawn-web: the program of `bawn web`, which starts it. web.h has the theory. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "kernel/directories.h"
#include "kernel/ports.h"
#include "kernel/process.h"
#include "report/messages.h"
#include "session/load.h"
#include "web/acts.h"
#include "web/opening.h"
#include "web/visit.h"

struct options {
    const char *bawn; /* the path of the bawn that became this program */
    uint16_t port;    /* 0: any */
    const char *unix_path;
    bool opens;
};

static void say(const struct speaker *speaker not_used, const char *message, const char *hint)
{
    auto_buf struct buf out = {0};
    const struct style plain = {0};
    report_add_problem(&out, &plain, message, hint);
    fputs(buf_text(&out), stderr);
}

static int fail(const struct err *err)
{
    say(NULL, err->message, *err->hint ? err->hint : NULL);
    return EXIT_REFUSED;
}

/* --- the arguments -------------------------------------------------------------------------------------------------- */

static int parse(char **arguments, struct options *options, struct err *err)
{
    if (!*arguments || !arguments[1] || *arguments[1] != '/') {
        err_set(err, "bawn-web is started by bawn");
        err_hint(err, "type `bawn web`");
        return -1;
    }
    *options = (struct options){.bawn = arguments[1], .opens = true};
    for (char **at = arguments + 2; *at; at++) {
        if (strcmp(*at, "--no-open") == 0) {
            options->opens = false;
        } else if (strcmp(*at, "--port") == 0 && at[1]) {
            if (!port_parse(*++at, &options->port))
                return err_set(err, "'%s' is not a port", *at);
        } else if (strcmp(*at, "--unix") == 0 && at[1]) {
            options->unix_path = *++at;
        } else {
            err_set(err, "`bawn web` does not take '%s'", *at);
            return err_hint(err, "`bawn web --help` explains it");
        }
    }
    return options->unix_path && options->port ? err_set(err, "--port and --unix exclude each other") : 0;
}

/* --- where it listens ----------------------------------------------------------------------------------------------- */

static int listen_at_port(uint16_t *port, struct err *err)
{
    auto_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(*port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    const int yes = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, SOMAXCONN) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) < 0)
        return err_sys(err, errno, "cannot listen at 127.0.0.1, port %u", *port);
    *port = ntohs(address.sin_port);
    return fd_take(&fd);
}

/* Only this user can open it. A socket that is there already is another server's, or was left by one. */
static int listen_at_path(const char *path, struct err *err)
{
    auto_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path))
        return err_set(err, "the path %s is too long for a socket", path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    mode_t before = umask(0177);
    bool is_bound =
        fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && listen(fd, SOMAXCONN) == 0;
    int errnum = errno;
    umask(before);
    if (is_bound)
        return fd_take(&fd);
    err_sys(err, errnum, "cannot listen at %s", path);
    return errnum == EADDRINUSE ? err_hint(err, "remove it, or choose another path") : -1;
}

/* --- what it needs to know ------------------------------------------------------------------------------------------ */

static const char *make_name(struct arena *arena, struct err *err)
{
    enum { NAME_DIGITS = 16 };
    char number[SECRET_SIZE];
    return secret_make(number, err) < 0 ? NULL
                                        : arena_printf(arena, "bawn-%.*s.localhost", NAME_DIGITS, number);
}

static int find_place(const struct caller *caller, const char *bawn, struct loaded *loaded,
                      struct web_place *ret_place, struct err *err)
{
    struct arena *arena = &loaded->arena;
    if (load_request(caller, loaded))
        return -1;
    const char *state = loaded->request.starts[START_STATE];
    *ret_place = (struct web_place){
        .home = loaded->request.home,
        .state = state,
        .store = load_store(loaded, arena),
        .bawn = bawn,
        .started_in = loaded->request.directory,
        .policy = arena_printf(arena, "%s/bawn/policy.bawn", loaded->request.starts[START_CONFIG]),
    };
    if (access(bawn, X_OK) < 0)
        return err_sys(err, errno, "cannot run %s", bawn);
    /* Landlock's rules are about what is there. */
    if (directories_make(arena_printf(arena, "%s/bawn/sessions", state), err) < 0 ||
        directories_make(ret_place->store, err) < 0 || secret_make(ret_place->token, err) < 0)
        return -1;
    ret_place->name = make_name(arena, err);
    return ret_place->name ? 0 : -1;
}

/*
 * Starts the browser, or prints where the page is for a person to open. What is no terminal may be a file
 * that a run reads: with a browser, it does not get the token.
 */
static int announce(const struct caller *caller, const struct options *options, struct arena *arena,
                    struct web_place *place, struct err *err)
{
    const char *page = arena_printf(arena, "%s/?token=%s", place->address, place->token);
    bool opens = options->opens && !options->unix_path && opening_is_possible(caller);
    if (opens && opening_begin(caller, arena, place, page, err) < 0)
        return -1;
    printf("%s\n", opens && !isatty(STDOUT_FILENO) ? place->opening : page);
    if (options->unix_path)
        printf("Forward a port to %s (ssh -L PORT:%s HOST), and write it in place of PORT.\n",
               options->unix_path, options->unix_path);
    printf("%s works once. Ctrl-C ends the page.\n",
           opens && !isatty(STDOUT_FILENO) ? "The file" : "The address");
    fflush(stdout);
    return 0;
}

/* --- the program ---------------------------------------------------------------------------------------------------- */

static int serve(const struct caller *caller, const struct options *options, struct loaded *loaded)
{
    static struct web_place place;
    struct err err = {0};
    int ends[2];
    if (find_place(caller, options->bawn, loaded, &place, &err) < 0)
        return *err.message ? fail(&err) : EXIT_BAD_INPUT;
    actor_block_signals(); /* from here on there is something to clean up */
    uint16_t port = options->port;
    auto_fd int listen_fd =
        options->unix_path ? listen_at_path(options->unix_path, &err) : listen_at_port(&port, &err);
    if (listen_fd < 0)
        return fail(&err);
    place.unix_path = options->unix_path;
    place.port = port;
    place.address = options->unix_path ? arena_printf(&loaded->arena, "http://%s:PORT", place.name)
                                       : arena_printf(&loaded->arena, "http://%s:%u", place.name, port);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
        err_sys(&err, errno, "cannot make a channel");
        return fail(&err);
    }
    pid_t server = fork();
    if (server == 0) {
        close(ends[0]);
        int status = server_run(&place, listen_fd, ends[1], &err);
        _exit(status < 0 ? fail(&err) : EXIT_FINE);
    }
    close(ends[1]);
    if (server < 0) {
        err_sys(&err, errno, "cannot start the server");
        return fail(&err);
    }
    int status = announce(caller, options, &loaded->arena, &place, &err) < 0
                     ? fail(&err)
                     : actor_run(caller, &place, ends[0]);
    opening_end(&place);
    if (options->unix_path)
        unlink(options->unix_path);
    return status;
}

int main(int count not_used, char **arguments)
{
    mallopt(M_ARENA_MAX, 1);
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGPIPE, &ignore, NULL);
    auto_fd int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    auto_free char *directory = getcwd(NULL, 0);
    const struct speaker speaker = {.say = say, .note = say};
    struct options options;
    struct err err = {0};
    if (!directory || *directory != '/' || root_fd < 0) {
        err_set(&err, "the current directory does not exist");
        return fail(&err);
    }
    if (parse(arguments, &options, &err) < 0) {
        fail(&err);
        return EXIT_BAD_INPUT;
    }
    const struct passwd *account = getpwuid(getuid());
    const struct caller caller = {
        .root_fd = root_fd,
        .directory = directory,
        .environment = (const char *const *)environ,
        .account_home = account ? account->pw_dir : NULL,
        .own_path = process_own_path,
        .speaker = &speaker,
    };
    auto_loaded struct loaded loaded = {0};
    return serve(&caller, &options, &loaded);
}
