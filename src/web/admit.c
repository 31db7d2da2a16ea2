/* Who may speak to the server: web.h has the rules. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/text.h"
#include "kernel/ports.h"
#include "web/visit.h"

int secret_make(char ret_secret[SECRET_SIZE], struct err *err)
{
    unsigned char bytes[SECRET_BYTES];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return err_sys(err, errno, "cannot get random bytes");
    text_hex(bytes, sizeof(bytes), ret_secret);
    return 0;
}

/* Takes as long for a wrong secret as for the right one. */
static bool is_secret(const char *given, const char *secret)
{
    unsigned char differs = 0;
    if (strlen(given) != SECRET_SIZE - 1)
        return false;
    for (size_t i = 0; i < SECRET_SIZE - 1; i++)
        differs |= (unsigned char)(given[i] ^ secret[i]);
    return !differs;
}

static const char *header(const struct visit *visit, const char *name)
{
    const char *value = MHD_lookup_connection_value(visit->connection, MHD_HEADER_KIND, name);
    return value ? value : "";
}

/* The name and, at a Unix socket, any port: `ssh -L` chooses one. */
static bool is_own_host(const struct web_place *place, const char *host)
{
    size_t size = strlen(place->name);
    if (!place->unix_path)
        return strcmp(host, place->address + strlen("http://")) == 0;
    if (strncmp(host, place->name, size) != 0)
        return false;
    return !host[size] || (host[size] == ':' && host[size + 1] &&
                           strspn(host + size + 1, "0123456789") == strlen(host + size + 1));
}

/*
 * Pages of ours send no Referer, and a browser then gives its forms the Origin "null". So does a foreign page
 * in a sandboxed frame: what tells them apart is Sec-Fetch-Site, which no page can set.
 */
static bool is_own_origin(const struct visit *visit, const char *host)
{
    const char *origin = header(visit, "Origin"), *site = header(visit, "Sec-Fetch-Site");
    bool is_same_site = strcmp(site, "same-origin") == 0;
    if (*site && !is_same_site && strcmp(site, "none") != 0)
        return false;
    if (*origin && strcmp(origin, "null") != 0)
        return text_starts_with(origin, "http://") && strcmp(origin + strlen("http://"), host) == 0;
    return is_same_site || (!*origin && !visit->is_post);
}

/* Other users have no token. If one gets it all the same, it is of no use. */
static bool is_own_process(const struct visit *visit)
{
    uid_t user;
    return port_peer_user(visit->web->table_fd, visit->door->fd, &user) && (user == getuid() || user == 0);
}

/*
 * The address that was opened: its token buys a cookie, once. A browser that comes from another page, as from
 * the file of opening.h, does not show a new cookie on the way on: to it, that is still the other page's
 * doing. So our own page leads on.
 */
static void exchange(struct visit *visit)
{
    struct web *web = visit->web;
    web->token_is_used = true;
    visit_entered(visit);
    visit->cookie = arena_printf(&visit->arena, "bawn=%s; Path=/; HttpOnly; SameSite=Strict", web->cookie);
    if (strcmp(header(visit, "Sec-Fetch-Site"), "none") == 0) {
        visit_go(visit, "/");
        return;
    }
    visit->status = MHD_HTTP_OK;
    html_add(
        &visit->page,
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8><title>bawn</title>"
        "<meta http-equiv=refresh content=\"0;url=/\"></head><body><a href=\"/\">Continue</a></body></html>\n");
}

const char *admit(struct visit *visit)
{
    struct web *web = visit->web;
    const char *host = header(visit, "Host"), *token = visit_query(visit, "token");
    bool is_first = *token && !visit->is_post && !web->token_is_used && is_secret(token, web->token);
    if (!is_own_host(web->place, host))
        return "The request is for another host.";
    /* No other page knows the token, and the browser comes from a file. */
    if (!is_first && !is_own_origin(visit, host))
        return "The request comes from another page.";
    const char *cookie = MHD_lookup_connection_value(visit->connection, MHD_COOKIE_KIND, "bawn");
    if (cookie && is_secret(cookie, web->cookie)) {
        if (*token && !visit->is_post)
            visit_go(visit, "/");
        return NULL;
    }
    if (is_first && !is_own_process(visit))
        return "The request is another user's, or bawn cannot tell whose it is.";
    if (is_first) {
        exchange(visit);
        return NULL;
    }
    return *token ? "This address was used already. Start bawn web again for a new one."
                  : "Open the address that bawn web printed.";
}

bool admit_form(struct visit *visit)
{
    const char *type = header(visit, "Content-Type");
    bool is_form = strcmp(type, "application/x-www-form-urlencoded") == 0;
    if (visit->is_too_large) {
        visit_say(visit, MHD_HTTP_CONTENT_TOO_LARGE, "Too large", "The form is too large.");
        return false;
    }
    if (!is_form || !form_parse(&visit->arena, buf_text(&visit->body), visit->body.size, &visit->form) ||
        !is_secret(visit_field(visit, "form"), visit->web->form)) {
        visit_say(visit, MHD_HTTP_FORBIDDEN, "Refused", "The form is not one of this page. Load it again.");
        return false;
    }
    return true;
}
