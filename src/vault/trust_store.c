#include "vault/trust_store.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/fd.h"

enum { LARGEST = 16 * 1024 * 1024 };

static struct buf unread; /* the file, until it is parsed */

static void read_file(const char *path)
{
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    unread.size = 0;
    if (fd < 0 || buf_read(&unread, fd, LARGEST) < 0)
        unread.size = 0; /* the folder may be enough; if not, no server is trusted */
}

static void parse_file(X509_STORE *store)
{
    BIO *text = unread.size ? BIO_new_mem_buf(unread.bytes, (int)unread.size) : NULL;
    STACK_OF(X509_INFO) *found = text ? PEM_X509_INFO_read_bio(text, NULL, NULL, NULL) : NULL;
    for (int i = 0; i < sk_X509_INFO_num(found); i++) {
        const X509_INFO *info = sk_X509_INFO_value(found, i);
        if (info->x509)
            X509_STORE_add_cert(store, info->x509);
        if (info->crl)
            X509_STORE_add_crl(store, info->crl);
    }
    sk_X509_INFO_pop_free(found, X509_INFO_free);
    BIO_free(text);
    buf_free(&unread);
    ERR_clear_error();
}

/* The store keeps what it has; the finder gets a reference that it does not count, as from OpenSSL's own lookups. */
static int find_in_store(X509_STORE *store, X509_LOOKUP_TYPE type, const X509_NAME *name, X509_OBJECT *found)
{
    X509_OBJECT *object =
        X509_OBJECT_retrieve_by_subject(X509_STORE_get0_objects(store), type, (X509_NAME *)name);
    X509 *certificate = object ? X509_OBJECT_get0_X509(object) : NULL;
    X509_CRL *list = object ? X509_OBJECT_get0_X509_CRL(object) : NULL;
    if (certificate && X509_OBJECT_set1_X509(found, certificate)) {
        X509_free(certificate);
        return 1;
    }
    if (list && X509_OBJECT_set1_X509_CRL(found, list)) {
        X509_CRL_free(list);
        return 1;
    }
    return 0;
}

/* Neither what was found before nor the folder has the subject. */
static int find_by_subject(X509_LOOKUP *lookup, X509_LOOKUP_TYPE type, const X509_NAME *name,
                           X509_OBJECT *found)
{
    X509_STORE *store = X509_LOOKUP_get_store(lookup);
    if (!unread.size)
        return 0;
    parse_file(store);
    return find_in_store(store, type, name, found);
}

int trust_store_open(SSL_CTX *context)
{
    static X509_LOOKUP_METHOD *method; /* stores keep a reference to it */
    X509_STORE *store = SSL_CTX_get_cert_store(context);
    const char *own = getenv(X509_get_default_cert_file_env());
    if (SSL_CTX_set_default_verify_dir(context) != 1)
        return -1;
    read_file(own ? own : X509_get_default_cert_file());
    if (own) {
        parse_file(store);
        return 0;
    }
    if (!method)
        method = X509_LOOKUP_meth_new("the machine's list of certificates");
    if (!method || !X509_LOOKUP_meth_set_get_by_subject(method, find_by_subject) ||
        !X509_STORE_add_lookup(store, method))
        return -1;
    return 0;
}
