#include "vault/authority.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <time.h>

enum {
    HOUR = 3600,
    AUTHORITY_LIFE = 30 * 24 * HOUR, /* longer than a session; its certificate cannot be replaced inside */
    LEAF_LIFE = 24 * HOUR,
    LEAF_USE = 12 * HOUR, /* then a new one is made */
    MOST_LEAVES = 4096,
    SERIAL_BITS = 120,
};

static int add_extension(X509 *certificate, X509 *issuer, int kind, const char *text)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, text);
    int result = extension && X509_add_ext(certificate, extension, -1) ? 0 : -1;
    X509_EXTENSION_free(extension);
    return result;
}

static int set_serial(X509 *certificate)
{
    BIGNUM *number = BN_new();
    /* From the generator that the keys come from: another one would have to be made. */
    int result = number && BN_priv_rand(number, SERIAL_BITS, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) &&
                         BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate))
                     ? 0
                     : -1;
    BN_free(number);
    return result;
}

/* A certificate without public key, extensions and signature. */
static X509 *begin_certificate(const char *name, long life)
{
    X509 *certificate = X509_new();
    X509_NAME *subject = certificate ? X509_get_subject_name(certificate) : NULL;
    if (certificate && X509_set_version(certificate, X509_VERSION_3) && set_serial(certificate) == 0 &&
        X509_gmtime_adj(X509_getm_notBefore(certificate), -HOUR) &&
        X509_gmtime_adj(X509_getm_notAfter(certificate), life) &&
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0))
        return certificate;
    X509_free(certificate);
    return NULL;
}

/* The same as X509_set_pubkey for a key of P-256, without the search of all encoders, which is a quarter of the work. */
static int set_public_point(X509 *certificate, EVP_PKEY *key)
{
    unsigned char *point = NULL;
    size_t size = EVP_PKEY_get1_encoded_public_key(key, &point);
    if (size &&
        X509_PUBKEY_set0_param(X509_get_X509_PUBKEY(certificate), OBJ_nid2obj(NID_X9_62_id_ecPublicKey),
                               V_ASN1_OBJECT, OBJ_nid2obj(NID_X9_62_prime256v1), point, (int)size))
        return 0;
    OPENSSL_free(point);
    return -1;
}

/* "critical,permitted;DNS:a,permitted;DNS:b" */
static void add_constraints(const struct vault_settings *settings, struct buf *out)
{
    buf_add_str(out, "critical");
    vec_each (const struct vault_secret, secret, &settings->secrets) {
        vec_each (const struct host_object, host, &secret->hosts)
            buf_printf(out, ",permitted;DNS:%s", host->name);
    }
    vec_each (const struct rule, rule, &settings->policy.rules) {
        if (rule->request)
            buf_printf(out, ",permitted;DNS:%s", rule->host.name);
    }
}

static int failed(struct err *err)
{
    char text[256];
    ERR_error_string_n(ERR_get_error(), text, sizeof(text));
    return err_set(err, "cannot make the session's certificate authority: %s", text);
}

/*
 * Every run with a secret waits for the authority. What OpenSSL does of its own accord takes longer than the keys:
 *
 * - Tables of the names of ciphers and errors. TLS looks nothing up in them. Errors are numbers then, which `openssl errstr` explains.
 * - A random generator from a cipher, which makes all ciphers known. One from SHA-256 is as good, and digests are needed anyway.
 *
 * Where the second is not to be had, the usual one is used.
 */
static void begin_library(void)
{
    OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS | OPENSSL_INIT_NO_ADD_ALL_CIPHERS, NULL);
    if (!RAND_set_DRBG_type(NULL, "HASH-DRBG", NULL, NULL, "SHA2-256"))
        ERR_clear_error();
}

int authority_make(const struct vault_settings *settings, struct authority *ret_authority, struct err *err)
{
    begin_library();
    auto_buf struct buf constraints = {0};
    add_constraints(settings, &constraints);
    struct authority authority = {.key = EVP_EC_gen("P-256"), .leaf_key = EVP_EC_gen("P-256")};
    if (!authority.key || !authority.leaf_key)
        return failed(err);
    X509 *made = begin_certificate("bawn: this session only", AUTHORITY_LIFE);
    if (!made || set_public_point(made, authority.key) < 0 ||
        !X509_set_issuer_name(made, X509_get_subject_name(made)) ||
        add_extension(made, made, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") < 0 ||
        add_extension(made, made, NID_key_usage, "critical,keyCertSign") < 0 ||
        add_extension(made, made, NID_subject_key_identifier, "hash") < 0 ||
        add_extension(made, made, NID_name_constraints, buf_text(&constraints)) < 0 ||
        !X509_sign(made, authority.key, EVP_sha256()))
        return failed(err);
    authority.certificate = made;
    *ret_authority = authority;
    return 0;
}

int authority_add_certificate(const struct authority *authority, struct buf *out, struct err *err)
{
    BIO *memory = BIO_new(BIO_s_mem());
    char *text = NULL;
    if (!memory || !PEM_write_bio_X509(memory, authority->certificate)) {
        BIO_free(memory);
        return failed(err);
    }
    long size = BIO_get_mem_data(memory, &text);
    buf_add(out, text, (size_t)size);
    BIO_free(memory);
    return 0;
}

static X509 *make_leaf(const struct authority *authority, struct arena *arena, const char *host)
{
    X509 *leaf = begin_certificate("bawn", LEAF_LIFE), *issuer = authority->certificate;
    if (leaf && X509_set_pubkey(leaf, authority->leaf_key) &&
        X509_set_issuer_name(leaf, X509_get_subject_name(issuer)) &&
        add_extension(leaf, issuer, NID_basic_constraints, "critical,CA:FALSE") == 0 &&
        add_extension(leaf, issuer, NID_key_usage, "critical,digitalSignature") == 0 &&
        add_extension(leaf, issuer, NID_ext_key_usage, "serverAuth") == 0 &&
        add_extension(leaf, issuer, NID_authority_key_identifier, "keyid:always") == 0 &&
        add_extension(leaf, issuer, NID_subject_alt_name, arena_printf(arena, "DNS:%s", host)) == 0 &&
        X509_sign(leaf, authority->key, EVP_sha256()))
        return leaf;
    X509_free(leaf);
    return NULL;
}

/* HTTP/1.1 is all that is spoken here. */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_size,
                           const unsigned char *offered, unsigned size, void *context)
{
    static const unsigned char spoken[] = "\x08http/1.1";
    (void)ssl, (void)context;
    int found =
        SSL_select_next_proto((unsigned char **)out, out_size, spoken, sizeof(spoken) - 1, offered, size);
    return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

/* bawn-egress has judged the name in the hello; here the same bytes are read by another parser. */
static int check_name(SSL *ssl, int *alert, void *context)
{
    const char *named = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    *alert = SSL_AD_UNRECOGNIZED_NAME;
    return named && strcasecmp(named, context) == 0 ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static SSL_CTX *make_context(const struct authority *authority, struct arena *arena, const char *host)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    X509 *leaf = context ? make_leaf(authority, arena, host) : NULL;
    if (!leaf || !SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) ||
        SSL_CTX_use_certificate(context, leaf) != 1 ||
        SSL_CTX_use_PrivateKey(context, authority->leaf_key) != 1) {
        X509_free(leaf);
        SSL_CTX_free(context);
        return NULL;
    }
    X509_free(leaf);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
    SSL_CTX_set_tlsext_servername_callback(context, check_name);
    SSL_CTX_set_tlsext_servername_arg(context, arena_str(arena, host));
    return context;
}

SSL_CTX *authority_context(struct authority *authority, struct arena *arena, const char *host)
{
    int64_t now = now_milliseconds();
    struct leaf *known = NULL;
    vec_each (struct leaf, leaf, &authority->leaves) {
        if (strcmp(leaf->host, host) == 0)
            known = leaf;
    }
    if (known && now - known->made < LEAF_USE * INT64_C(1000))
        return known->context;
    SSL_CTX *context =
        known || authority->leaves.count < MOST_LEAVES ? make_context(authority, arena, host) : NULL;
    if (context && known) {
        SSL_CTX_free(known->context); /* connections keep theirs */
        known->context = context;
        known->made = now;
    } else if (context) {
        vec_push(&authority->leaves, (struct leaf){arena_str(arena, host), context, now});
    }
    return context;
}
