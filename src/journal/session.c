#include "journal/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/path.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

/* Folders of marks: a session that runs or was killed, and one whose repair failed. */
#define RUNNING    "running"
#define UNREPAIRED "unrepaired"

static int open_folder(struct arena *arena, const char *state_directory, const char *name, struct err *err)
{
    return directories_open_made(arena_printf(arena, "%s/bawn/%s", state_directory, name), err);
}

/* Sessions are named in the shell: what a person would have to quote becomes a dash. */
static const char *base_name(struct arena *arena, const char *directory)
{
    enum { LONGEST = 40 };
    char *name = arena_copy(arena, path_name(directory), strnlen(path_name(directory), LONGEST));
    for (char *byte = name; *byte; byte++) {
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._", *byte))
            *byte = '-';
    }
    while (*name == '-' || *name == '.')
        name++;
    return *name ? name : "root";
}

/* The number in "base-N"; 0 where the name is no such. */
static unsigned long number_of(const char *name, const char *base)
{
    size_t size = strlen(base);
    if (strncmp(name, base, size) != 0 || name[size] != '-')
        return 0;
    char *end;
    unsigned long number = strtoul(name + size + 1, &end, 10);
    return *end || number > 1000000000 ? 0 : number;
}

static unsigned long highest_number(int sessions_fd, const char *base, size_t *ret_count)
{
    unsigned long highest = 0;
    *ret_count = 0;
    auto_dir DIR *directory = directories_list(sessions_fd);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        unsigned long number = number_of(entry->d_name, base);
        highest = number > highest ? number : highest;
        *ret_count += *entry->d_name != '.';
    }
    return highest;
}

int session_lock(int sessions_fd, const char *name, struct err *err)
{
    auto_fd int fd = open_directory_at(sessions_fd, name);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
        return err_sys(err, errno, "cannot lock the session %s", name);
    return fd_take(&fd);
}

/*
 * The number of the latest session is noted in a file, so that most runs need not look through all of them. It is only a hint: if
 * a folder of that number exists, the next number is tried. Returns 0 if nothing can be read there.
 */
static unsigned long noted_number(int note_fd)
{
    char text[16] = "";
    ssize_t size = note_fd < 0 ? 0 : pread(note_fd, text, sizeof(text) - 1, 0);
    return size > 0 ? number_of(text, "") : 0;
}

static void note_number(int note_fd, unsigned long number)
{
    char text[16];
    int size = snprintf(text, sizeof(text), "-%lu", number);
    if (note_fd >= 0 && pwrite(note_fd, text, (size_t)size, 0) < 0)
        return; /* the next run finds a folder at what it reads, and counts on */
}

/* Work that looks at every session is done by the first session of a name, and by few later ones: most runs skip it. */
static unsigned long next_number(int sessions_fd, int note_fd, const char *base, size_t *ret_others)
{
    enum { SELDOM = 16 };
    unsigned long number = noted_number(note_fd) + 1;
    *ret_others = 0;
    if (number % SELDOM != 1)
        return number;
    unsigned long highest = highest_number(sessions_fd, base, ret_others);
    return highest >= number ? highest + 1 : number;
}

/* Returns the new session's name, or NULL; and how many others there are, if it is one that looks. */
static const char *make_folder(struct arena *arena, int sessions_fd, int numbers_fd, const char *directory,
                               size_t *ret_others, struct err *err)
{
    const char *base = base_name(arena, directory);
    auto_fd int note_fd = openat(numbers_fd, base, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    for (unsigned long number = next_number(sessions_fd, note_fd, base, ret_others);; number++) {
        const char *name = arena_printf(arena, "%s-%lu", base, number);
        if (mkdirat(sessions_fd, name, 0700) == 0) {
            note_number(note_fd, number);
            return name;
        }
        if (errno != EEXIST) {
            err_sys(err, errno, "cannot make a directory for the session");
            return NULL;
        }
    }
}

/* If root started bawn, a process 1 that is about to end has copies of the descriptors: closing ours would not release the locks. */
static void unlock(const struct session *session)
{
    struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    if (session->folder_fd >= 0)
        flock(session->folder_fd, LOCK_UN);
    if (session->alive_fd >= 0)
        fcntl(session->alive_fd, F_OFD_SETLK, &all);
}

void session_leave(struct session *session)
{
    const int descriptors[] = {session->folder_fd, session->running_fd, session->alive_fd};
    journal_close(&session->journal);
    unlock(session);
    for (size_t i = 0; i < array_len(descriptors); i++)
        fd_close(descriptors[i]);
    session->folder_fd = session->running_fd = session->alive_fd = -1;
}

/* The mark is a hard link of the journal: cheaper to make, and above all to remove, than a file of its own. */
static int note_running(const struct session *session, struct err *err)
{
    if (linkat(session->folder_fd, SESSION_JOURNAL, session->running_fd, session->name, 0) == 0)
        return 0;
    auto_fd int fd =
        openat(session->running_fd, session->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return fd < 0 ? err_sys(err, errno, "cannot mark the session %s as running", session->name) : 0;
}

/*
 * Every running session holds a lock on one byte in one of a few files; its name chooses the file and the byte. So bawn can ask
 * which of hundreds of sessions are alive without opening the folder of each. There are several files because the kernel searches
 * all locks of a file. Two names may share a byte: the lock on a session's own folder decides.
 */
enum { ALIVE_FILES = 16 };

struct alive_place {
    unsigned file;
    struct flock byte;
};

static struct alive_place alive_place(const char *name, short type)
{
    uint64_t hash = fnv_add(fnv_start, name, strlen(name));
    return (struct alive_place){
        .file = (unsigned)hash % ALIVE_FILES,
        .byte = {.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)(hash >> 2), .l_len = 1}};
}

/* Beside the numbers. */
static int open_alive_file(int numbers_fd, unsigned file, int flags)
{
    char name[16];
    snprintf(name, sizeof(name), ".alive-%u", file);
    return openat(numbers_fd, name, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static void show_life(struct session *session, int numbers_fd)
{
    struct alive_place place = alive_place(session->name, F_WRLCK);
    session->alive_fd = open_alive_file(numbers_fd, place.file, O_RDWR | O_CREAT);
    if (session->alive_fd >= 0 && fcntl(session->alive_fd, F_OFD_SETLK, &place.byte) < 0)
        return; /* whoever asks will look into the folder */
}

/* Those that were asked about already, each opened when it is needed. */
struct alive_files {
    int numbers_fd;
    bool is_open[ALIVE_FILES];
    int fds[ALIVE_FILES];
};

static bool shows_life(struct alive_files *files, const char *name)
{
    struct alive_place place = alive_place(name, F_RDLCK);
    if (!files->is_open[place.file])
        files->fds[place.file] = open_alive_file(files->numbers_fd, place.file, O_RDONLY);
    files->is_open[place.file] = true;
    int fd = files->fds[place.file];
    return fd >= 0 && fcntl(fd, F_OFD_GETLK, &place.byte) == 0 && place.byte.l_type != F_UNLCK;
}

static void close_alive_files(const struct alive_files *files)
{
    for (unsigned i = 0; i < ALIVE_FILES; i++) {
        if (files->is_open[i] && files->fds[i] >= 0)
            close(files->fds[i]);
    }
}

/* Is every link on the way to the path this user's or root's? Others could lead it elsewhere. */
static bool links_are_own(struct arena *arena, const char *path)
{
    struct stat status;
    for (; strcmp(path, "/") != 0; path = path_parent(arena, path)) {
        if (lstat(path, &status) == 0 && S_ISLNK(status.st_mode) && status.st_uid != geteuid() &&
            status.st_uid != 0)
            return false;
    }
    return true;
}

/*
 * The path of the session's folder without symlinks. The links on the way, such as a ~/.local that leads into a folder of dot files,
 * were followed when the folder was opened, before the command runs. From then on nothing follows a link there.
 */
static const char *real_folder(struct arena *arena, int folder_fd, const char *path, struct err *err)
{
    not_zeroed char real[PATH_MAX];
    ssize_t size = readlink(fd_path(folder_fd).text, real, sizeof(real));
    if (size <= 0 || (size_t)size >= sizeof(real))
        return path;
    const char *found = arena_copy(arena, real, (size_t)size);
    if (strcmp(found, path) == 0 || links_are_own(arena, path))
        return found;
    err_set(err, "%s lies behind a symbolic link of another user", path);
    err_hint(err, "set XDG_STATE_HOME to a directory of your own");
    return NULL;
}

int session_begin(struct arena *arena, const char *state_directory, const char *directory,
                  struct session *ret_session, struct err *err)
{
    auto_fd int sessions_fd = open_folder(arena, state_directory, "sessions", err);
    if (sessions_fd < 0)
        return -1;
    struct session session = SESSION_NONE;
    auto_fd int numbers_fd = open_folder(arena, state_directory, "numbers", err);
    session.running_fd = numbers_fd < 0 ? -1 : open_folder(arena, state_directory, RUNNING, err);
    size_t others = 0;
    if (session.running_fd < 0 ||
        !(session.name = make_folder(arena, sessions_fd, numbers_fd, directory, &others, err)))
        goto failed;
    session.folder = arena_printf(arena, "%s/bawn/sessions/%s", state_directory, session.name);
    session.tidies_up = others > SESSIONS_ALWAYS_KEPT;
    session.folder_fd = session_lock(sessions_fd, session.name, err);
    if (session.folder_fd < 0 ||
        !(session.folder = real_folder(arena, session.folder_fd, session.folder, err)))
        goto failed;
    if (journal_open(session.folder_fd, SESSION_JOURNAL, &session.journal, err) < 0 ||
        note_running(&session, err) < 0)
        goto failed;
    show_life(&session, numbers_fd);
    *ret_session = session;
    return 0;
failed:
    session_leave(&session);
    return -1;
}

const char *session_began_with(struct arena *arena, int folder_fd, const char *field)
{
    char first[8192];
    auto_fd int fd = openat(folder_fd, SESSION_JOURNAL, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, first, sizeof(first));
    const char *end = size > 0 ? memchr(first, '\n', (size_t)size) : NULL;
    struct journal_record record;
    if (!end || !journal_record_parse(arena, first, (size_t)(end - first), &record))
        return NULL;
    const char *text = journal_record_text(&record, field);
    journal_record_free(&record);
    return text;
}

/* Was the session begun in this directory? Another of the same name may lie elsewhere. */
static bool began_in(struct arena *arena, int sessions_fd, const char *name, const char *directory)
{
    auto_fd int fd = open_directory_at(sessions_fd, name);
    const char *workspace = fd < 0 ? NULL : session_began_with(arena, fd, "workspace");
    return workspace && strcmp(workspace, directory) == 0;
}

const char *session_latest(struct arena *arena, const char *state_directory, const char *directory)
{
    const char *path = arena_printf(arena, "%s/bawn/sessions", state_directory),
               *base = base_name(arena, directory);
    auto_dir DIR *sessions = opendir(path);
    const char *latest = NULL;
    for (struct dirent *entry; sessions && (entry = readdir(sessions));) {
        if (number_of(entry->d_name, base) > (latest ? number_of(latest, base) : 0) &&
            began_in(arena, dirfd(sessions), entry->d_name, directory))
            latest = arena_str(arena, entry->d_name);
    }
    return latest;
}

void session_end(struct session *session)
{
    if (session->folder_fd >= 0)
        unlinkat(session->running_fd, session->name, 0);
    session_leave(session);
}

int session_repair_one(struct arena *arena, const char *state_directory, const char *name,
                       session_repair *repair, void *context, struct err *err)
{
    auto_fd int sessions_fd = open_folder(arena, state_directory, "sessions", err);
    if (sessions_fd < 0)
        return -1;
    struct session session = SESSION_NONE;
    session.name = arena_str(arena, name);
    session.folder = arena_printf(arena, "%s/bawn/sessions/%s", state_directory, name);
    session.folder_fd = session_lock(sessions_fd, name, err);
    bool is_running = session.folder_fd < 0 && err->errnum == EWOULDBLOCK;
    bool is_gone = session.folder_fd < 0 && err->errnum == ENOENT;
    if (is_running)
        return 0;
    session.running_fd = open_folder(arena, state_directory, RUNNING, err);
    int result = is_gone || session.running_fd < 0 ? 0 : -1;
    const char *real =
        session.folder_fd < 0 ? NULL : real_folder(arena, session.folder_fd, session.folder, err);
    session.folder = real ? real : session.folder;
    if (!is_gone && real && journal_open(session.folder_fd, SESSION_JOURNAL, &session.journal, err) == 0)
        result = repair(context, &session, err);
    if (result == 0 && session.running_fd >= 0)
        unlinkat(session.running_fd, name, 0);
    session_leave(&session);
    return result;
}

/* The names in a folder of marks, each an empty file. A folder that is not there has none. */
static int list_marks(struct arena *arena, const char *path, session_names *ret_names, struct err *err)
{
    auto_dir DIR *folder = opendir(path);
    if (!folder)
        return errno == ENOENT || errno == ENOTDIR ? 0 : err_sys(err, errno, "cannot look into %s", path);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        if (*entry->d_name != '.')
            vec_push(ret_names, arena_str(arena, entry->d_name));
    }
    return 0;
}

int session_list_killed(struct arena *arena, const char *state_directory, session_names *ret_names,
                        struct err *err)
{
    if (list_marks(arena, arena_printf(arena, "%s/bawn/" RUNNING, state_directory), ret_names, err) < 0)
        return -1;
    const char *numbers = arena_printf(arena, "%s/bawn/numbers", state_directory);
    auto_fd int numbers_fd = ret_names->count ? open(numbers, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    struct alive_files files = {.numbers_fd = numbers_fd};
    size_t killed = 0;
    for (size_t i = 0; i < ret_names->count; i++) {
        if (!shows_life(&files, ret_names->at[i]))
            ret_names->at[killed++] = ret_names->at[i];
    }
    ret_names->count = killed;
    close_alive_files(&files);
    return 0;
}

static const char *mark_path(struct arena *arena, const char *state_directory, const char *folder,
                             const char *name)
{
    return arena_printf(arena, "%s/bawn/%s/%s", state_directory, folder, name);
}

bool session_set_aside(struct arena *arena, const char *state_directory, const char *name)
{
    struct err ignored;
    auto_fd int folder_fd = open_folder(arena, state_directory, UNREPAIRED, &ignored);
    return folder_fd >= 0 && rename(mark_path(arena, state_directory, RUNNING, name),
                                    mark_path(arena, state_directory, UNREPAIRED, name)) == 0;
}

bool session_mark_killed(struct arena *arena, const char *state_directory, const char *name)
{
    struct err ignored;
    auto_fd int folder_fd = open_folder(arena, state_directory, RUNNING, &ignored);
    auto_fd int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd >= 0;
}

void session_give_up(struct arena *arena, const char *state_directory, const char *name)
{
    unlink(mark_path(arena, state_directory, UNREPAIRED, name));
}

bool session_is_set_aside(struct arena *arena, const char *state_directory, const char *name)
{
    return access(mark_path(arena, state_directory, UNREPAIRED, name), F_OK) == 0;
}

int session_list_set_aside(struct arena *arena, const char *state_directory, session_names *ret_names,
                           struct err *err)
{
    return list_marks(arena, arena_printf(arena, "%s/bawn/" UNREPAIRED, state_directory), ret_names, err);
}

size_t session_take_up(struct arena *arena, const char *state_directory)
{
    auto_vec session_names names = {0};
    struct err ignored;
    size_t count = 0;
    if (session_list_set_aside(arena, state_directory, &names, &ignored) == 0)
        for (size_t i = 0; i < names.count; i++)
            count += rename(mark_path(arena, state_directory, UNREPAIRED, names.at[i]),
                            mark_path(arena, state_directory, RUNNING, names.at[i])) == 0;
    return count;
}
