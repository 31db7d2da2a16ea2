/*
 * Sends the plan to the child, which was cloned before there was one. start.c describes the order of events.
 *
 * On the wire: struct head, then each operation that is carried out inside, as its number in the plan, struct operation and the
 * texts that it points to; then the environment, the command's words and single texts. A text is its size with the NUL
 * (0 for NULL) and its bytes. Both ends are the same program, so structs are sent as they are in memory; pointers in
 * them are replaced by the receiver.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "launch/inside.h"

struct head {
    size_t size; /* of the bytes behind the head */
    size_t variables, words, files;
    struct operations operations; /* without the operations themselves, which follow */
};

static void put_text(struct buf *out, const char *text)
{
    size_t size = text ? strlen(text) + 1 : 0;
    buf_add(out, (const char *)&size, sizeof(size));
    buf_add(out, text, size);
}

static size_t count_of(const char *const *texts)
{
    size_t count = 0;
    while (texts[count])
        count++;
    return count;
}

/* The texts that an operation carries over; its other pointers do not arrive. */
static const size_t operation_texts[] = {
    offsetof(struct operation, path),    offsetof(struct operation, source),
    offsetof(struct operation, name),    offsetof(struct operation, value),
    offsetof(struct operation, overlay), offsetof(struct operation, elsewhere),
};

static const char **operation_text(struct operation *operation, size_t index)
{
    return (const char **)((char *)operation + operation_texts[index]);
}

/* Other operations are the supervisor's: carried out at the end of the run, or sent in another form, such as the environment. */
static bool is_carried_out(const struct operation *operation)
{
    switch (operation->kind) {
    case OP_FLAG: /* a pattern that hides must leave out a path that is flagged by name */
        return !operation->missing && !operation->is_pattern;
    case OP_REFUSE:
    case OP_REQUEST:
    case OP_ENV_PASS:
    case OP_ENV_SET:
    case OP_SECRET:
    case OP_LEAK:
    case OP_ARTIFACTS:
    case OP_REQUIRE:
    case OP_ARGUMENT:
        return false;
    default:
        return true;
    }
}

int handover_send(const struct launch *launch, int socket_fd, struct err *err)
{
    const struct operations *operations = launch->operations;
    struct head head = {.variables = count_of(launch->environment),
                        .words = count_of(launch->command),
                        .files = launch->file_count,
                        .operations = *operations};
    head.operations.count = 0;
    auto_buf struct buf out = {0};
    buf_add(&out, (const char *)&head, sizeof(head));
    for (size_t i = 0; i < operations->count; i++) {
        struct operation *operation = &operations->at[i];
        if (!is_carried_out(operation))
            continue;
        head.operations.count++;
        buf_add(&out, (const char *)&i, sizeof(i));
        buf_add(&out, (const char *)operation, sizeof(*operation));
        for (size_t text = 0; text < array_len(operation_texts); text++)
            put_text(&out, *operation_text(operation, text));
    }
    for (size_t i = 0; i < head.variables; i++)
        put_text(&out, launch->environment[i]);
    for (size_t i = 0; i < head.words; i++)
        put_text(&out, launch->command[i]);
    put_text(&out, launch->directory);
    put_text(&out, launch->home);
    put_text(&out, launch->scratch);
    put_text(&out, launch->git_config);
    put_text(&out, launch->briefing);
    put_text(&out, launch->policy);
    for (size_t i = 0; i < launch->file_count; i++) {
        put_text(&out, launch->files[i].path);
        put_text(&out, launch->files[i].host);
        put_text(&out, launch->files[i].text);
    }
    head.size = out.size - sizeof(head);
    memcpy(out.bytes, &head, sizeof(head));
    for (size_t sent = 0; sent < out.size;) {
        ssize_t now = send(socket_fd, out.bytes + sent, out.size - sent, MSG_NOSIGNAL);
        if (now < 0 && (errno == EPIPE || errno == ECONNRESET))
            return 0;
        if (now < 0 && errno != EINTR)
            return err_sys(err, errno, "cannot start the sandbox");
        sent += now < 0 ? 0 : (size_t)now;
    }
    return 0;
}

static bool receive_all(int socket_fd, void *bytes, size_t size)
{
    for (size_t got = 0; got < size;) {
        ssize_t now = recv(socket_fd, (char *)bytes + got, size - got, 0);
        if (now == 0 || (now < 0 && errno != EINTR))
            return false;
        got += now < 0 ? 0 : (size_t)now;
    }
    return true;
}

static const char *take_text(const char **at)
{
    size_t size;
    memcpy(&size, *at, sizeof(size));
    const char *text = size ? *at + sizeof(size) : NULL;
    *at += sizeof(size) + size;
    return text;
}

static const char *const *take_texts(const char **at, struct arena *arena, size_t count)
{
    const char **texts = arena_alloc(arena, (count + 1) * sizeof(*texts));
    for (size_t i = 0; i < count; i++)
        texts[i] = take_text(at);
    return texts;
}

int handover_receive(int socket_fd, struct arena *arena, struct launch *launch, struct err *err)
{
    struct head head;
    if (!receive_all(socket_fd, &head, sizeof(head)))
        return err_set(err, "bawn outside the sandbox has ended");
    char *bytes = arena_room(arena, head.size);
    if (!receive_all(socket_fd, bytes, head.size))
        return err_set(err, "bawn outside the sandbox has ended");
    const char *at = bytes;
    struct operations *operations = arena_new(arena, struct operations);
    *operations = head.operations;
    operations->at = arena_alloc(arena, operations->count * sizeof(*operations->at));
    size_t *numbers = arena_alloc(arena, operations->count * sizeof(*numbers));
    launch->numbers = numbers;
    for (size_t i = 0; i < operations->count; i++) {
        struct operation *operation = &operations->at[i];
        memcpy(&numbers[i], at, sizeof(*numbers));
        at += sizeof(*numbers);
        memcpy(operation, at, sizeof(*operation));
        at += sizeof(*operation);
        operation->because = NULL;
        operation->entries = NULL;
        for (size_t text = 0; text < array_len(operation_texts); text++)
            *operation_text(operation, text) = take_text(&at);
    }
    launch->operations = operations;
    launch->environment = take_texts(&at, arena, head.variables);
    launch->command = take_texts(&at, arena, head.words);
    launch->directory = take_text(&at);
    launch->home = take_text(&at);
    launch->scratch = take_text(&at);
    launch->git_config = take_text(&at);
    launch->briefing = take_text(&at);
    launch->policy = take_text(&at);
    struct launch_file *files = arena_alloc(arena, (head.files + 1) * sizeof(*files));
    for (size_t i = 0; i < head.files; i++) {
        files[i].path = take_text(&at);
        files[i].host = take_text(&at);
        files[i].text = take_text(&at);
    }
    launch->files = files;
    launch->file_count = head.files;
    return 0;
}
