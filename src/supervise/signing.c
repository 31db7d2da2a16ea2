#include "supervise/signing.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "base/timespec.h"
#include "kernel/handed.h"
#include "kernel/process.h"
#include "policy/decide.h"
#include "policy/ssh_key.h"
#include "supervise/helper.h"
#include "supervise/known_hosts.h"

enum {
    MOST_CONNECTIONS = 32,
    MOST_EVENTS = 1024,  /* a sandbox must not fill the disk */
    MOST_LOGINS = 16384, /* each is recorded: counted apart, so that no number of refusals hides one */
    MOST_REFUSED = 256,
    PATIENCE = 100, /* seconds; sshd gives a login 120 */
};

/* --- start -------------------------------------------------------------------------------------------------------- */

static int add_rule(struct signing *signing, const struct operation *operation, struct err *err)
{
    struct signing_rule rule = {.operation = operation, .key = operation->because->ssh_key};
    if (ssh_files_hash(signing->plan, rule.key, rule.hash, err) < 0)
        return -1;
    vec_push(&signing->rules, rule);
    return 0;
}

static void is_answered(void *context, const struct question *question);

int signing_begin(struct signing *signing, const struct plan *plan, const char *const *environment,
                  struct asking *asking, struct err *err)
{
    if (!operations_find(&plan->operations, OP_SSH_KEY))
        return 0;
    signing->plan = plan;
    signing->environment = environment;
    signing->journal = asking->journal;
    signing->loop = asking->loop;
    signing->asking = asking;
    signing->program = libexec_find(&signing->arena, "bawn-vault");
    if (!signing->program) {
        err_set(err, "the policy lets programs use keys of your ssh agent, and bawn-vault is not installed "
                     "beside bawn");
        return err_hint(err, "build bawn with OpenSSL (libssl-dev), or leave out `ssh-key` rules");
    }
    vec_each (const struct operation, operation, &plan->operations) {
        if (operation->kind == OP_SSH_KEY && add_rule(signing, operation, err) < 0)
            return -1;
    }
    asking_hear(asking, is_answered, signing);
    return 0;
}

static void note_trouble(struct signing *signing, const struct err *err)
{
    if (signing->events++ < MOST_EVENTS)
        journal_event(signing->journal, "network-trouble", "why", err->message);
}

/* The rules, as vault/agent_back.c reads them. */
static int write_settings(struct signing *signing, struct err *err)
{
    struct arena arena = {0};
    auto_buf struct buf lines = {0};
    vec_each (const struct signing_rule, rule, &signing->rules) {
        buf_printf(&lines, "rule %s %s\n", rule->hash, path_name(rule->key->key));
        for (size_t i = 0; i < rule->key->host_count; i++) {
            host_key_list keys = {0};
            struct err unread = {0};
            if (ssh_files_find(signing->plan, &arena, &rule->key->hosts[i], &keys, &unread) < 0)
                note_trouble(signing, &unread);
            vec_each (const struct bytes, key, &keys)
                buf_printf(&lines, "host %zu %s\n", i, base64_of(&arena, *key));
            vec_free(&keys);
        }
    }
    arena_free(&arena);
    auto_fd int fd = memfd_create("bawn-vault-agent", MFD_CLOEXEC);
    if (fd < 0 || write(fd, buf_text(&lines), lines.size) != (ssize_t)lines.size ||
        lseek(fd, 0, SEEK_SET) < 0)
        return err_sys(err, errno, "cannot write the settings of bawn-vault");
    return fd_take(&fd);
}

/* Never waits: an agent with too many connections refuses one more. */
static int connect_agent(const struct signing *signing, struct err *err)
{
    const char *path = text_variable(signing->environment, "SSH_AUTH_SOCK");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    auto_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (!path || strlen(path) >= sizeof(address.sun_path))
        return err_set(err, "SSH_AUTH_SOCK does not name a socket");
    memcpy(address.sun_path, path, strlen(path));
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        fcntl(fd, F_SETFL, 0) < 0)
        return err_sys(err, errno, "your ssh agent at %s does not answer", path);
    return fd_take(&fd);
}

static pid_t start_part(const struct signing *signing, const char *name, const int *fds, size_t count)
{
    const struct helper_program program = {signing->program, name, signing->environment, NULL, 0};
    pid_t parent = getpid(), child = fork();
    if (child == 0)
        helper_become(&program, parent, fds, count);
    return child;
}

static int start(struct signing *signing, int client, struct signing_connection *ret_connection,
                 struct err *err)
{
    int way[2], link[2];
    auto_fd int agent = connect_agent(signing, err);
    auto_fd int settings = agent < 0 ? -1 : write_settings(signing, err);
    if (settings < 0)
        return -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, way) < 0)
        return err_sys(err, errno, "cannot make a socket");
    auto_fd int to_back = way[0], to_front = way[1];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link) < 0)
        return err_sys(err, errno, "cannot make a socket");
    auto_fd int own = link[0], others = link[1];
    const int front_fds[] = {client, to_back}, back_fds[] = {settings, others, to_front, agent};
    pid_t front = start_part(signing, AGENT_FRONT, front_fds, array_len(front_fds));
    pid_t back = front < 0 ? -1 : start_part(signing, AGENT_BACK, back_fds, array_len(back_fds));
    if (back < 0) {
        err_sys(err, errno, "cannot make a process for bawn-vault");
        helper_end(front);
        return -1;
    }
    ret_connection->front = front;
    ret_connection->back = back;
    ret_connection->link_fd = fd_take(&own);
    return 0;
}

/* --- records ------------------------------------------------------------------------------------------------------ */

static void note_signed(struct signing *signing, const struct signing_connection *connection)
{
    struct arena arena = {0};
    signing->logins++;
    journal_event(signing->journal, "ssh-key", "key", connection->fitting.at[0].rule->key->key, "host",
                  signing_fits_hosts(&arena, &connection->fitting), "user", connection->user, "program",
                  connection->client.program, "pid", arena_printf(&arena, "%d", (int)connection->client.pid));
    arena_free(&arena);
}

/* `rule` may be NULL: no rule names the key. An alarm is shown to the person at the end, and told at once. */
static void note_refused(struct signing *signing, const struct signing_connection *connection,
                         const struct signing_rule *rule, const char *user, const char *why, bool is_alarm)
{
    struct arena arena = {0};
    struct refused_key refused = {.key = rule ? rule->key->key : "another key", .why = why};
    if (signing->events++ >= MOST_EVENTS)
        journal_leave_out(signing->journal);
    else
        journal_event(signing->journal, "ssh-key-refused", "key", refused.key, "user", user, "why", why,
                      "program", connection->client.program, "pid",
                      arena_printf(&arena, "%d", (int)connection->client.pid));
    arena_free(&arena);
    if (!is_alarm || signing->refused.count >= MOST_REFUSED)
        return;
    vec_each (const struct refused_key, known, &signing->refused) {
        if (strcmp(known->key, refused.key) == 0 && strcmp(known->why, why) == 0)
            return; /* it was told */
    }
    vec_push(&signing->refused, refused);
    if (signing->tell)
        signing->tell(signing->context, &refused);
}

/* Words of vault/agent.h. */
static const struct refusal {
    const char *word, *sentence;
    bool is_alarm;
} refusals[] = {
    {"unbound", "ssh did not say which host it is for (OpenSSH 8.9 and later do)", true},
    {"strange", "the rule does not name the host, or your known_hosts does not have its key", true},
    {"forged", "the host's key did not sign the session", true},
    {"forwarded", "the agent was passed on to another machine", true},
    {"session", "it is for another connection than the one that was shown", true},
    {"data", "it is not a login, and nothing else is signed", true},
    {"key", "no `ssh-key` rule names this key", true},
    {"many", "too many hosts of `ssh-key` rules have this host's key", false},
    {"weak", "its algorithm does not fit the key, or uses SHA-1", false},
    {"unanswered", "your ssh agent refused, or does not answer", false},
};

/* "WORD RULE USER" */
static void take_refused(struct signing *signing, const struct signing_connection *connection, char *rest)
{
    const char *word = strsep(&rest, " "), *number_text = rest ? strsep(&rest, " ") : "";
    uint64_t number;
    bool has_rule = text_take_number(&number_text, &number) && number < signing->rules.count;
    for (size_t i = 0; rest && i < array_len(refusals); i++) {
        if (strcmp(word, refusals[i].word) == 0)
            note_refused(signing, connection, has_rule ? &signing->rules.at[number] : NULL, rest,
                         refusals[i].sentence, refusals[i].is_alarm);
    }
}

/* --- what may be signed ------------------------------------------------------------------------------------------- */

static void answer(const struct signing_connection *connection, bool is_yes)
{
    const char *word = is_yes ? "yes" : "no";
    if (send(connection->link_fd, word, strlen(word), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return; /* it is gone, and needs no word */
}

/* Why it cannot be signed, without asking anybody; NULL: it can. */
static const char *why_not(const struct signing *signing, const struct signing_connection *connection)
{
    if (signing_fits_used_up(&connection->fitting))
        return "the rule's number of signatures is used up";
    return signing->logins >= MOST_LOGINS ? "there were too many logins in this run" : NULL;
}

/* The last word about a signature. `why` is NULL where nobody is against it. */
static void decide(struct signing *signing, struct signing_connection *connection, const char *why)
{
    why = why ? why : why_not(signing, connection); /* others may have been signed while it waited */
    connection->question = 0;
    if (why) {
        const struct signing_rule *rule = signing_fits_used_up(&connection->fitting);
        note_refused(signing, connection, rule ? rule : connection->fitting.at[0].rule, connection->user, why,
                     false);
    } else {
        signing_fits_count(&connection->fitting);
        note_signed(signing, connection);
    }
    answer(connection, !why);
}

static struct decided ask(struct signing *signing, struct arena *arena,
                          const struct signing_connection *connection, const struct signing_rule *rule)
{
    const char *object = arena_printf(arena, "%s to %s as %s", rule->key->key,
                                      signing_fits_hosts(arena, &connection->fitting), connection->user);
    struct asking *asking = signing->asking;
    char parents[PARENTS_LONGEST];
    holder_read_parents(&connection->client, asking_deputy(asking), parents);
    struct asker asker = {.pid = (int)connection->client.pid,
                          .program = connection->client.program,
                          .parents = parents,
                          .identity = object,
                          .says = arena_printf(arena, "`ssh-key %s` (%s)", rule->operation->because->written,
                                               rule_origin(arena, rule->operation->because))};
    return asking_put(asking, arena, arena_printf(arena, "ssh-key\t%s\t", object), &asker);
}

static int waited_too_long(void *self, short events, struct err *err);

/* Rings when the first of those that wait has waited long enough. */
static void set_timer(struct signing *signing)
{
    int64_t first = 0;
    vec_each (const struct signing_connection, waiting, &signing->connections) {
        if (waiting->question && (!first || waiting->until < first))
            first = waiting->until;
    }
    loop_ring_at(signing->loop, &signing->timer_fd, first, waited_too_long, signing);
}

static int waited_too_long(void *self, short events not_used, struct err *err not_used)
{
    struct signing *signing = self;
    uint64_t expirations;
    if (read(signing->timer_fd, &expirations, sizeof(expirations)) < 0)
        return 0;
    vec_each (struct signing_connection, connection, &signing->connections) {
        if (connection->question && connection->until <= now_seconds())
            decide(signing, connection, "nobody answered");
    }
    set_timer(signing);
    return 0;
}

/* A person has answered. Once is for the one that waited longest. */
static void is_answered(void *context, const struct question *question)
{
    struct signing *signing = context;
    struct signing_connection *oldest = NULL;
    vec_each (struct signing_connection, connection, &signing->connections) {
        if (connection->question == question->id && (!oldest || connection->until < oldest->until))
            oldest = connection;
    }
    vec_each (struct signing_connection, connection, &signing->connections) {
        if (connection->question != question->id)
            continue;
        bool is_its =
            question->answer == ANSWER_SESSION || (question->answer == ANSWER_ONCE && connection == oldest);
        decide(signing, connection,
               is_its                            ? NULL
               : question->answer == ANSWER_ONCE ? "a person allowed it once, for another program"
                                                 : "a person said no");
    }
    set_timer(signing);
}

/* "USER PROOF RULE HOST…" */
static void take_sign(struct signing *signing, struct signing_connection *connection, char *rest)
{
    const char *user = strsep(&rest, " "), *proof = rest ? strsep(&rest, " ") : "";
    const char *dialled = network_dialled(signing->asking->network, proof);
    if (connection->question || !signing_fits_read(&signing->rules, rest, &connection->fitting)) {
        answer(connection, false);
        return;
    }
    signing_fits_keep(&connection->fitting, dialled);
    snprintf(connection->user, sizeof(connection->user), "%s", user);
    const char *why = why_not(signing, connection);
    const struct signing_rule *asking = signing_fits_asking(&connection->fitting);
    if (why || !asking) {
        decide(signing, connection, why);
        return;
    }
    struct arena arena = {0};
    struct decided decided = ask(signing, &arena, connection, asking);
    if (decided.reply == REPLY_OPEN) {
        connection->question = decided.id;
        connection->until = now_seconds() + PATIENCE;
        set_timer(signing);
    } else {
        decide(signing, connection,
               decided.reply == REPLY_GRANTED ? NULL
               : decided.id                   ? "a person said no"
                                              : "too many questions are open");
    }
    arena_free(&arena);
}

/* --- connections -------------------------------------------------------------------------------------------------- */

static int program_comes(void *self, short events, struct err *err);

/* Takes the next line of a back. Returns what recv() returns. Nobody waits for a signature of one that is about to be ended. */
static ssize_t take_line(struct signing *signing, struct signing_connection *connection, bool is_ending)
{
    char line[LONGEST_LINE + 1];
    ssize_t got = recv(connection->link_fd, line, LONGEST_LINE, MSG_DONTWAIT);
    if (got <= 0)
        return got;
    line[got] = '\0';
    char *rest = line;
    const char *word = strsep(&rest, " ");
    if (rest && strcmp(word, "sign") == 0 && !is_ending)
        take_sign(signing, connection, rest);
    else if (rest && strcmp(word, "refused") == 0)
        take_refused(signing, connection, rest);
    return got;
}

static void forget(struct signing *signing, size_t index)
{
    struct signing_connection *connection = &signing->connections.at[index];
    while (take_line(signing, connection, true) > 0) { /* the run may end before its last words are heard */
    }
    loop_remove(signing->loop, connection->link_fd);
    close(connection->link_fd);
    helper_end(connection->front);
    helper_end(connection->back);
    vec_free(&connection->fitting);
    *connection = signing->connections.at[--signing->connections.count];
    if (signing->is_full && signing->listen_fd >= 0)
        loop_add(signing->loop, signing->listen_fd, POLLIN, program_comes, signing);
    signing->is_full = false;
}

/* Lines of the backs. One that has ended is forgotten. */
static int link_ready(void *self, short events not_used, struct err *err not_used)
{
    struct signing *signing = self;
    for (size_t i = signing->connections.count; i-- > 0;) {
        ssize_t got = take_line(signing, &signing->connections.at[i], false);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            forget(signing, i);
    }
    return 0;
}

static int program_comes(void *self, short events not_used, struct err *err not_used)
{
    struct signing *signing = self;
    if (signing->connections.count >= MOST_CONNECTIONS) { /* it waits until another one has ended */
        loop_remove(signing->loop, signing->listen_fd);
        signing->is_full = true;
        return 0;
    }
    auto_fd int client = accept4(signing->listen_fd, NULL, NULL, SOCK_CLOEXEC);
    if (client < 0)
        return 0;
    struct err problem = {0};
    struct signing_connection connection = {.client = holder_of_peer(client, asking_deputy(signing->asking))};
    if (start(signing, client, &connection, &problem) < 0) {
        note_trouble(signing, &problem);
        return 0;
    }
    loop_add(signing->loop, connection.link_fd, POLLIN, link_ready, signing);
    vec_push(&signing->connections, connection);
    return 0;
}

void signing_listen(struct signing *signing, int listen_fd)
{
    signing->listen_fd = listen_fd;
    if (signing->plan)
        loop_add(signing->loop, listen_fd, POLLIN, program_comes, signing);
}

void signing_end(struct signing *signing)
{
    if (signing->plan && signing->listen_fd >= 0 && !signing->is_full)
        loop_remove(signing->loop, signing->listen_fd);
    fd_close(signing->listen_fd);
    signing->listen_fd = -1;
    for (size_t i = signing->connections.count; i--;)
        forget(signing, i);
    if (signing->timer_fd >= 0)
        loop_remove(signing->loop, signing->timer_fd);
    fd_close(signing->timer_fd);
    signing->timer_fd = -1;
}

void signing_free(struct signing *signing)
{
    vec_free(&signing->rules);
    vec_free(&signing->connections);
    vec_free(&signing->refused);
    arena_free(&signing->arena);
    *signing = SIGNING_NONE;
}
