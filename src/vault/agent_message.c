/* Messages of the ssh agent protocol (draft-ietf-sshm-ssh-agent), and records between front and back. Nothing is decided here. */
#include <arpa/inet.h>
#include <string.h>

#include "base/reader.h"
#include "base/text.h"
#include "vault/agent.h"

enum { USERAUTH_REQUEST = 50, SMALLEST_SESSION = 20, FLAG_SHA256 = 2, FLAG_SHA512 = 4 };

static const char connection_service[] = "ssh-connection", by_key[] = "publickey",
                  by_key_and_host[] = "publickey-hostbound-v00@openssh.com",
                  bind_extension[] = "session-bind@openssh.com";

static struct reader reader_of(struct bytes bytes)
{
    return (struct reader){
        .at = (const uint8_t *)bytes.at, .size = bytes.size, .failed = !bytes_known(bytes)};
}

static struct bytes take_string(struct reader *reader)
{
    struct reader part = reader_vector(reader, 4);
    return bytes_of((const char *)part.at, part.size); /* one that failed has neither */
}

void agent_add_string(struct buf *out, struct bytes string)
{
    uint32_t size = htonl((uint32_t)string.size);
    buf_add(out, (const char *)&size, sizeof(size));
    if (string.size)
        buf_add(out, string.at, string.size);
}

static bool is_session(struct bytes session)
{
    return session.size >= SMALLEST_SESSION && session.size <= AGENT_LARGEST_SESSION;
}

/* A name that a line of bawn's can have as it is. */
static bool is_user(struct bytes user)
{
    bool is_one = user.size > 0 && user.size <= AGENT_LONGEST_USER;
    for (size_t i = 0; i < user.size; i++)
        is_one = is_one && user.at[i] > ' ' && user.at[i] < 127;
    return is_one;
}

/* What ssh has signed to log in. */
static bool read_login(struct bytes data, struct bytes key, struct agent_request *login)
{
    struct reader reader = reader_of(data);
    login->session = take_string(&reader);
    bool is_request = reader_number(&reader, 1) == USERAUTH_REQUEST;
    login->user = take_string(&reader);
    struct bytes service = take_string(&reader), method = take_string(&reader);
    bool has_signature = reader_number(&reader, 1) == 1;
    login->algorithm = take_string(&reader);
    login->key = take_string(&reader);
    login->is_bound_itself = bytes_equal_text(method, by_key_and_host);
    if (login->is_bound_itself)
        login->host_key = take_string(&reader);
    return !reader.failed && reader.size == 0 && is_request && has_signature && is_session(login->session) &&
           is_user(login->user) && bytes_equal_text(service, connection_service) &&
           (login->is_bound_itself || bytes_equal_text(method, by_key)) && bytes_equal(login->key, key);
}

static struct agent_request read_sign(struct reader reader)
{
    struct agent_request login = {.kind = AGENT_LOGIN};
    struct bytes key = take_string(&reader), data = take_string(&reader);
    reader_number(&reader, 4); /* flags: the algorithm in the data says the same */
    if (reader.failed || reader.size)
        return (struct agent_request){.kind = AGENT_OTHER};
    return read_login(data, key, &login) ? login
                                         : (struct agent_request){.kind = AGENT_OTHER_DATA, .key = key};
}

static struct agent_request read_extension(struct reader reader)
{
    struct agent_request request = {.kind = AGENT_BIND};
    struct bytes name = take_string(&reader);
    request.host_key = take_string(&reader);
    request.session = take_string(&reader);
    request.signature = take_string(&reader);
    uint32_t forwarding = reader_number(&reader, 1);
    request.is_forwarding = forwarding != 0;
    bool is_one = !reader.failed && reader.size == 0 && bytes_equal_text(name, bind_extension) &&
                  is_session(request.session) && forwarding <= 1;
    return is_one ? request : (struct agent_request){.kind = AGENT_OTHER};
}

struct agent_request agent_read(struct bytes message)
{
    struct reader reader = reader_of(message);
    uint32_t kind = reader_number(&reader, 1);
    if (reader.failed)
        return (struct agent_request){.kind = AGENT_OTHER};
    if (kind == AGENT_REQUEST_IDENTITIES && reader.size == 0)
        return (struct agent_request){.kind = AGENT_LIST};
    if (kind == AGENT_SIGN_REQUEST)
        return read_sign(reader);
    return kind == AGENT_EXTENSION ? read_extension(reader) : (struct agent_request){.kind = AGENT_OTHER};
}

/* --- records ------------------------------------------------------------------------------------------------------ */

enum { BIT_FORWARDING = 1, BIT_BOUND_ITSELF = 2, BITS = 3 };

void agent_add_record(const struct agent_request *request, struct buf *out)
{
    const struct bytes fields[] = {request->session, request->host_key,  request->signature,
                                   request->key,     request->algorithm, request->user};
    buf_add_char(out, (char)request->kind);
    buf_add_char(out, (char)((request->is_forwarding ? BIT_FORWARDING : 0) |
                             (request->is_bound_itself ? BIT_BOUND_ITSELF : 0)));
    for (size_t i = 0; i < array_len(fields); i++)
        agent_add_string(out, fields[i]);
}

bool agent_read_record(struct bytes record, struct agent_request *ret_request)
{
    struct reader reader = reader_of(record);
    uint32_t kind = reader_number(&reader, 1), bits = reader_number(&reader, 1);
    struct agent_request request = {.kind = (enum agent_kind)kind,
                                    .is_forwarding = bits & BIT_FORWARDING,
                                    .is_bound_itself = bits & BIT_BOUND_ITSELF};
    struct bytes *const fields[] = {&request.session, &request.host_key,  &request.signature,
                                    &request.key,     &request.algorithm, &request.user};
    for (size_t i = 0; i < array_len(fields); i++)
        *fields[i] = take_string(&reader);
    bool has_session = kind == AGENT_BIND || kind == AGENT_LOGIN;
    if (reader.failed || reader.size || kind >= AGENT_KIND_COUNT || bits > BITS ||
        (has_session && !is_session(request.session)) ||
        (kind == AGENT_LOGIN ? !is_user(request.user) : request.user.size > 0))
        return false;
    *ret_request = request;
    return true;
}

/* --- what the user's agent gets ----------------------------------------------------------------------------------- */

/* The kind of a key is the first string of its public part. RSA with SHA-1 is not signed. */
static bool find_flags(struct bytes key, struct bytes algorithm, uint32_t *ret_flags)
{
    struct reader reader = reader_of(key);
    struct bytes kind = take_string(&reader);
    *ret_flags = bytes_equal_text(algorithm, "rsa-sha2-256")   ? FLAG_SHA256
                 : bytes_equal_text(algorithm, "rsa-sha2-512") ? FLAG_SHA512
                                                               : 0;
    bool is_rsa = bytes_equal_text(kind, "ssh-rsa");
    return !reader.failed && (is_rsa ? *ret_flags != 0 : bytes_equal(kind, algorithm));
}

bool agent_add_login(const struct agent_request *login, struct buf *out)
{
    uint32_t flags;
    auto_buf struct buf data = {0};
    const char *method = login->is_bound_itself ? by_key_and_host : by_key;
    if (!find_flags(login->key, login->algorithm, &flags))
        return false;
    agent_add_string(&data, login->session);
    buf_add_char(&data, USERAUTH_REQUEST);
    agent_add_string(&data, login->user);
    agent_add_string(&data, bytes_of(connection_service, strlen(connection_service)));
    agent_add_string(&data, bytes_of(method, strlen(method)));
    buf_add_char(&data, 1);
    agent_add_string(&data, login->algorithm);
    agent_add_string(&data, login->key);
    if (login->is_bound_itself)
        agent_add_string(&data, login->host_key);
    buf_add_char(out, AGENT_SIGN_REQUEST);
    agent_add_string(out, login->key);
    agent_add_string(out, bytes_of(data.bytes, data.size));
    flags = htonl(flags);
    buf_add(out, (const char *)&flags, sizeof(flags));
    return true;
}

bool agent_take_key(struct bytes *rest, struct bytes *ret_key)
{
    struct reader reader = reader_of(*rest);
    *ret_key = take_string(&reader);
    take_string(&reader); /* the user's name for it */
    if (reader.failed)
        return false;
    *rest = bytes_of((const char *)reader.at, reader.size);
    return true;
}
