#include "journal/journal.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"

void system_log_head(const char *session, const char *moment, const struct journal *journal)
{
    enum { USER_INFO = 1 << 3 | 6 }; /* facility and severity, as RFC 3164 has them */
    static const struct sockaddr_un log = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
    char line[256];
    if (journal->fd < 0 || journal->next < 2)
        return;
    auto_fd int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int size = snprintf(line, sizeof(line), "<%d>bawn[%d]: %s %s, record %" PRIu64 ", chain %s", USER_INFO,
                        getpid(), session, moment, journal->next - 1, journal->chain);
    if (fd < 0 || sendto(fd, line, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)&log,
                         sizeof(log)) < 0)
        return;
}
