#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/hash.h"
#include "home/files.h"
#include "home/login.h"

/* Lines "PLACEHOLDER FILE PLACE". */
#define STATE_NAME "logins"

enum { LARGEST_STATE = 1 << 20 };

const char *login_file_key(struct arena *arena, const char *path)
{
    char hash[SHA256_HEX_SIZE];
    sha256_hex(path, strlen(path), hash);
    return arena_str(arena, hash);
}

void login_state_read(struct arena *arena, int state_fd, kept_tokens *kept)
{
    auto_buf struct buf text = {0};
    auto_fd int fd = openat(state_fd, STATE_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || buf_read(&text, fd, LARGEST_STATE) < 0)
        return;
    struct bytes rest = bytes_of(text.bytes, text.size), line;
    while (bytes_take_line(&rest, &line)) {
        char *words = arena_copy(arena, line.at, line.size);
        const char *placeholder = strsep(&words, " "), *file = words ? strsep(&words, " ") : NULL;
        if (file && words && strlen(placeholder) >= TOKEN_SHORTEST)
            vec_push(kept, (struct kept_token){file, words, placeholder});
    }
}

int login_state_write(int state_fd, const kept_tokens *kept, struct err *err)
{
    auto_buf struct buf text = {0};
    vec_each (const struct kept_token, token, kept)
        buf_printf(&text, "%s %s %s\n", token->placeholder, token->file, token->place);
    return files_replace(state_fd, STATE_NAME, buf_text(&text), text.size, err);
}
