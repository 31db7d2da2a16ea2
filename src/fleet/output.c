#include "fleet/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/beneath.h"
#include "kernel/ports.h"
#include "kernel/process.h"

enum { OUTPUT_LARGEST = 64 * 1024 * 1024, TAIL = 64 * 1024, STEP = 64 * 1024 };

static const char *const names[OUTPUT_STREAMS] = {"stdout", "stderr"};

/* --- in the child ----------------------------------------------------------------------------------------------------- */

struct stream {
    int from_fd, file_fd;
    uint64_t written,
        left_out;    /* left_out: bytes that the file does not have, those of the tail among them */
    char tail[TAIL]; /* the last of them; byte i of what was left out is at i % TAIL */
};

static void keep_tail(struct stream *stream, const char *bytes, size_t size)
{
    while (size) {
        size_t at = stream->left_out % TAIL, part = size < TAIL - at ? size : TAIL - at;
        memcpy(stream->tail + at, bytes, part);
        stream->left_out += part;
        bytes += part;
        size -= part;
    }
}

/* Once a byte is missing in the file, all further ones go to the tail: a full disk may have room again later. */
static void take(struct stream *stream, const char *bytes, size_t size)
{
    size_t room = OUTPUT_LARGEST - (size_t)stream->written, part = size < room ? size : room;
    if (!stream->left_out && part && write_whole(stream->file_fd, bytes, part) == 0) {
        stream->written += part;
        bytes += part;
        size -= part;
    }
    keep_tail(stream, bytes, size);
}

/* Reads what is there. Returns false if there is nothing now. */
static bool copy_some(struct stream *stream)
{
    char bytes[STEP];
    ssize_t size = read(stream->from_fd, bytes, sizeof(bytes));
    if (size > 0)
        take(stream, bytes, (size_t)size);
    else if (size == 0 || errno != EINTR)
        return false;
    return true;
}

/* Adds the tail. Returns how many bytes the file lacks. */
static uint64_t end_stream(struct stream *stream)
{
    if (!stream->left_out)
        return 0;
    size_t kept = stream->left_out < TAIL ? (size_t)stream->left_out : TAIL;
    size_t at = (size_t)((stream->left_out - kept) % TAIL), first = kept < TAIL - at ? kept : TAIL - at;
    uint64_t lacking = stream->left_out - kept;
    char line[96];
    int length = snprintf(line, sizeof(line), "\n[bawn: %" PRIu64 " bytes are left out here]\n", lacking);
    bool is_whole = (lacking == 0 || write_whole(stream->file_fd, line, (size_t)length) == 0) &&
                    write_whole(stream->file_fd, stream->tail + at, first) == 0 &&
                    write_whole(stream->file_fd, stream->tail, kept - first) == 0;
    return is_whole ? lacking : stream->left_out;
}

/* Waits for the files, which come with a byte. Returns false if there will be none. */
static bool receive_files(int end_fd, int *ret_files)
{
    struct pollfd ready = {.fd = end_fd, .events = POLLIN};
    size_t count = 0;
    char word;
    while (poll(&ready, 1, -1) < 0)
        ;
    return passing_receive_all(end_fd, &word, 1, ret_files, OUTPUT_STREAMS, &count) == 1 &&
           count == OUTPUT_STREAMS;
}

/* Until the worker asks for the end, or is gone: then what is in the pipes is still taken. */
static _Noreturn void copy_as_child(const int *from, int end_fd)
{
    static struct stream streams[OUTPUT_STREAMS];
    uint64_t dropped = 0;
    int files[OUTPUT_STREAMS];
    static const int heard[] = {SIGTERM, SIGINT, SIGHUP}; /* Slurm sends them to all processes of a job */
    for (size_t i = 0; i < array_len(heard); i++)
        sigaction(heard[i], &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
    if (!receive_files(end_fd, files))
        _exit(send(end_fd, &dropped, sizeof(dropped), MSG_NOSIGNAL) == sizeof(dropped) ? 0 : 1);
    struct pollfd waits[OUTPUT_STREAMS + 1] = {[OUTPUT_STREAMS] = {.fd = end_fd, .events = POLLIN}};
    for (size_t i = 0; i < OUTPUT_STREAMS; i++) {
        streams[i] = (struct stream){.from_fd = from[i], .file_fd = files[i]};
        waits[i] = (struct pollfd){.fd = from[i], .events = POLLIN};
    }
    while (!waits[OUTPUT_STREAMS].revents) {
        if (poll(waits, OUTPUT_STREAMS + 1, -1) < 0)
            continue;
        for (size_t i = 0; i < OUTPUT_STREAMS; i++) {
            if (waits[i].revents && !copy_some(&streams[i]) && !(waits[i].revents & POLLIN))
                waits[i].fd = -1;
        }
    }
    for (size_t i = 0; i < OUTPUT_STREAMS; i++) {
        while (copy_some(&streams[i]))
            ;
        dropped += end_stream(&streams[i]);
    }
    _exit(send(end_fd, &dropped, sizeof(dropped), MSG_NOSIGNAL) == sizeof(dropped) ? 0 : 1);
}

/* --- in the worker ---------------------------------------------------------------------------------------------------- */

/* A new file for each attempt. */
static int make_file(int folder_fd, const char *name, struct err *err)
{
    unlinkat(folder_fd, name, 0);
    int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd < 0 ? err_sys(err, errno, "cannot make %s", name) : fd;
}

/* The reading end does not block: at the end, the child reads until there is nothing. */
static int make_pipe(int *ret_read_fd, int *ret_write_fd, struct err *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
        return err_sys(err, errno, "cannot make a pipe");
    *ret_read_fd = ends[0];
    *ret_write_fd = ends[1];
    return 0;
}

static int begin(struct output *output, struct err *err)
{
    auto_fd int read_out = -1, write_out = -1, read_err = -1, write_err = -1;
    int ends[2];
    if (make_pipe(&read_out, &write_out, err) < 0 || make_pipe(&read_err, &write_err, err) < 0)
        return -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return err_sys(err, errno, "cannot make a socket");
    output->end_fd = ends[0];
    auto_fd int end_of_child = ends[1];
    fflush(NULL);
    output->child = fork();
    if (output->child == 0) {
        close(write_out), close(write_err), close(output->end_fd);
        copy_as_child((int[]){read_out, read_err}, end_of_child);
    }
    if (output->child < 0)
        return err_sys(err, errno, "cannot make a process for the output");
    for (int i = 0; i < OUTPUT_STREAMS; i++) {
        output->before[i] = fcntl(STDOUT_FILENO + i, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        if (output->before[i] < 0 || dup2(i ? write_err : write_out, STDOUT_FILENO + i) < 0)
            return err_sys(err, errno, "cannot use %s", names[i]);
    }
    return 0;
}

/* Returns whether the child has told how much it left out. */
static bool finish(struct output *output, uint64_t *ret_dropped)
{
    fflush(NULL);
    for (int i = 0; i < OUTPUT_STREAMS; i++) {
        if (output->before[i] >= 0)
            dup2(output->before[i], STDOUT_FILENO + i);
        fd_close(output->before[i]);
    }
    bool is_asked = output->child > 0 && send(output->end_fd, "e", 1, MSG_NOSIGNAL) == 1;
    ssize_t got = is_asked ? read(output->end_fd, ret_dropped, sizeof(*ret_dropped)) : -1;
    fd_close(output->end_fd);
    if (output->child > 0)
        process_wait(output->child);
    *output = OUTPUT_NONE;
    return got == sizeof(*ret_dropped);
}

int output_begin(struct output *output, struct err *err)
{
    uint64_t ignored;
    int begun = begin(output, err);
    if (begun < 0)
        finish(output, &ignored);
    return begun;
}

int output_keep(const struct output *output, int folder_fd, struct err *err)
{
    auto_fd int out_file = make_file(folder_fd, names[0], err);
    auto_fd int err_file = out_file < 0 ? -1 : make_file(folder_fd, names[1], err);
    if (err_file < 0)
        return -1;
    return passing_send_all(output->end_fd, "f", 1, (int[]){out_file, err_file}, OUTPUT_STREAMS) < 0
               ? err_sys(err, errno, "the process that keeps the output was ended")
               : 0;
}

int output_end(struct output *output, uint64_t *ret_dropped, struct err *err)
{
    return finish(output, ret_dropped) ? 0 : err_set(err, "the process that keeps the output was ended");
}
