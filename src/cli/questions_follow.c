/*
 * `bawn requests --follow`: shows questions as they come. On a terminal each is answered with one key
 * (answer.h); a question that was answered elsewhere meanwhile is given up. Text from inside is printable
 * already: broker/ made it so.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "cli/answer.h"
#include "cli/questions.h"
#include "cli/say.h"
#include "report/event.h"

enum {
    PAUSE_MILLISECONDS = 300,    /* between two looks at the sessions, at least */
    LATEST_MILLISECONDS = 30000, /* and at most: a journal that cannot be written tells of nothing */
};

static const struct {
    char key;
    const char *word;
} answers[] = {{'o', "once"}, {'s', "session"}, {'a', "always"}, {'n', "no"}, {'v', "never"}};

struct following {
    const struct world *world;
    struct answering answering;
    bool has_keys;
    const char *only;   /* one question; NULL: all */
    struct arena arena; /* of `seen` */
    fs_names seen;      /* SESSION/ID that need not be shown again */
    bool drains;        /* after `only` come the others that are open, and then the end */
    bool is_over, has_waited;
    int watch_fd; /* inotify: a session began or ended, or wrote to its journal, as with each question and answer. -1: none */
    int status;
};

/* Watches the sessions that run. What was watched before stays watched: their journals have links of their own in that folder. */
static void watch_sessions(struct following *following, struct loaded *loaded)
{
    const char *folder = arena_printf(&loaded->arena, "%s/bawn/running", loaded->request.starts[START_STATE]);
    auto_vec fs_names names = {0};
    if (following->watch_fd < 0)
        following->watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    bool is_watched = following->watch_fd >= 0 &&
                      inotify_add_watch(following->watch_fd, folder, IN_CREATE | IN_DELETE | IN_ONLYDIR) >= 0;
    running_find(loaded, &names);
    for (size_t i = 0; is_watched && i < names.count; i++) {
        const char *journal = arena_printf(&loaded->arena, "%s/%s", folder, names.at[i]);
        is_watched = inotify_add_watch(following->watch_fd, journal, IN_MODIFY) >= 0 || errno == ENOENT;
    }
    if (!is_watched && following->watch_fd >= 0) {
        close(following->watch_fd);
        following->watch_fd = -1;
    }
}

static void drop_events(const struct following *following)
{
    enum { EVENTS_LARGEST = 4096 };
    char events[EVENTS_LARGEST];
    while (following->watch_fd >= 0 && read(following->watch_fd, events, sizeof(events)) > 0) {
    }
}

/* No question is shown: waits for q, or for something that happens in a session. */
static void wait_for_event(struct following *following)
{
    struct pollfd happens = {.fd = following->watch_fd, .events = POLLIN};
    int most = following->watch_fd < 0 ? PAUSE_MILLISECONDS : LATEST_MILLISECONDS;
    if (following->has_keys) {
        char key = answer_idle(&following->answering, following->watch_fd, most);
        following->is_over = key == 'q' || key == KEY_CANCEL || key == KEY_END;
        return;
    }
    poll(&happens, 1, most);
    if (following->watch_fd >= 0)
        poll(NULL, 0, PAUSE_MILLISECONDS); /* a session that writes much must not keep this one busy */
}

static const char *name_of(struct arena *arena, const struct asked *asked)
{
    return arena_printf(arena, "%s/%s", asked->session, asked->fields[FIELD_ID]);
}

static const char *word_for_key(char key)
{
    for (size_t i = 0; i < array_len(answers); i++) {
        if (answers[i].key == key)
            return answers[i].word;
    }
    return NULL;
}

/* A question that is shown. */
struct shown {
    const struct following *following;
    const char *name; /* SESSION/ID */
};

/* Is the question still open? */
static bool is_open(void *context)
{
    const struct shown *shown = context;
    auto_loaded struct loaded loaded = {0};
    asked_list list = {0};
    bool found = false;
    drop_events(shown->following);
    if (asked_find(shown->following->world, &loaded, &list) == 0) {
        vec_each (const struct asked, asked, &list)
            found |= asked_has_name(asked, shown->name);
    }
    vec_free(&list);
    return found;
}

/* The workspace of a session, if its .bawn could get a rule; or NULL. */
static const char *repository_of(struct loaded *loaded, const char *session)
{
    auto_fd int sessions_fd = sessions_open(loaded);
    auto_fd int fd = session_open(sessions_fd, session);
    struct glance glance = {0};
    bool is_known =
        fd >= 0 && glance_at(fd, &loaded->arena, loaded->request.home, &glance) && glance.workspace;
    return is_known && asked_repository_is_trusted(loaded, glance.workspace) ? glance.workspace : NULL;
}

/*
 * The rule of `always` or `never` is shown before it is written. Returns false if the person does not want
 * it. *ret_repository: it goes to the repository's .bawn, which the whole team gets; not if it is about a
 * path of this machine or a variable.
 */
static bool confirm_rule(struct following *following, struct loaded *loaded, const struct asked *asked,
                         const char *word, const char **ret_repository)
{
    FILE *out = following->world->out;
    const char *rule = asked_rule(&loaded->arena, asked, word);
    bool is_host = strcmp(asked->fields[FIELD_KIND], "connect") == 0;
    const char *repository = is_host ? repository_of(loaded, asked->session) : NULL;
    if (!rule)
        return true; /* asked_answer() says that there is none */
    const char *line =
        arena_printf(&loaded->arena, "  y adds `%s` to your policy%s%s%s   other keys: do not: ", rule,
                     repository ? "   r to " : "", repository ? repository : "", repository ? "/.bawn" : "");
    char key = answer_key(&following->answering, line);
    fprintf(out, "%c\n", key >= ' ' ? key : ' ');
    *ret_repository = key == 'r' ? repository : NULL;
    return key == 'y' || (key == 'r' && repository);
}

/* Shows a question, and takes its answer. */
static void take_answer(struct following *following, struct loaded *loaded, const struct asked *asked,
                        const char *text)
{
    struct shown shown = {following, name_of(&loaded->arena, asked)};
    struct answering *answering = &following->answering;
    struct answer_question question = {
        .text = text,
        .line = "  o once   s this session   a always   n no   v never   l later   q quit: ",
        .is_open = is_open,
        .context = &shown,
        .wake_fd = following->watch_fd,
        .elsewhere =
            arena_printf(&loaded->arena, "answer in another terminal: `bawn requests %s`", shown.name)};
    answering->session = asked->session;
    while (!following->is_over) {
        char key = answer_take(answering, &question);
        const char *word = word_for_key(key), *repository = NULL;
        fprintf(answering->out, "%s\n", key == '\0' ? "it is not open any more" : word ? word : "");
        following->is_over |= key == 'q' || key == KEY_CANCEL || key == KEY_END;
        if (key == '\0' || key == 'l' || key == KEY_UNSURE || following->is_over)
            return;
        if (!word || !confirm_rule(following, loaded, asked, word, &repository))
            continue;
        following->status = asked_answer(following->world, loaded, asked, word,
                                         asked_way(following->world, "key"), repository);
        if (following->status == EXIT_FINE || !is_open(&shown))
            return;
    }
}

/* Shows a question that was not seen yet. */
static void show(struct following *following, struct loaded *loaded, const struct asked *asked)
{
    const char *name = name_of(&loaded->arena, asked);
    if (fs_has_name(&following->seen, name) || (following->only && !asked_has_name(asked, following->only)))
        return;
    vec_push(&following->seen, arena_str(&following->arena, name));
    auto_buf struct buf text = {0};
    asked_add_text(following->world, loaded, asked, 1, &text);
    if (following->has_keys)
        take_answer(following, loaded, asked, buf_text(&text));
    else
        put(following->world->out, &text);
    fflush(following->world->out);
    following->is_over |= following->only != NULL && !following->drains;
    following->only = NULL;
}

/* One look at all sessions. */
static void look(struct following *following)
{
    auto_loaded struct loaded loaded = {0};
    asked_list list = {0};
    following->status = load_request(&following->world->caller, &loaded);
    if (following->status == EXIT_FINE)
        watch_sessions(following, &loaded); /* before the look: nothing is missed between the two */
    loaded_free(&loaded);
    loaded = (struct loaded){0};
    drop_events(following);
    following->status = asked_find(following->world, &loaded, &list);
    following->is_over |= following->status != EXIT_FINE;
    for (size_t i = 0; !following->is_over && i < list.count; i++)
        show(following, &loaded, &list.at[i]);
    vec_free(&list);
}

static void wait_for_more(struct following *following)
{
    if (!following->has_waited && following->has_keys)
        fputs("Questions will appear here. q quits.\n", following->world->out);
    fflush(following->world->out);
    following->has_waited = true;
    wait_for_event(following);
}

int questions_follow(const struct world *world, const char *only, bool goes_on)
{
    struct following following = {.world = world, .only = only, .drains = only && goes_on, .watch_fd = -1};
    following.has_keys = answer_begin(world, world->out, &following.answering);
    while (!following.is_over) {
        size_t before = following.seen.count;
        look(&following);
        following.is_over |= following.drains && before && before == following.seen.count;
        if (only && following.seen.count == 0) {
            following.status =
                say_bad_input(world, "that question is not open", "`bawn requests` lists the open ones");
            following.is_over = true;
        }
        if (!following.is_over && !following.drains)
            wait_for_more(&following);
    }
    answer_end(&following.answering);
    fd_close(following.watch_fd);
    vec_free(&following.seen);
    arena_free(&following.arena);
    return following.status;
}
