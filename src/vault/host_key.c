/* Signatures by host keys of ssh (RFC 4253, 5656, 8332, 8709), checked with OpenSSL. */
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <string.h>

#include "base/names.h"
#include "base/reader.h"
#include "vault/agent.h"

enum { ED25519_KEY = 32, ED25519_SIGNATURE = 64, RSA_SMALLEST = 2048 / 8, RSA_LARGEST = 16384 / 8 };

static const struct kind {
    const char *key, *signature; /* names of ssh's */
    const char *group, *digest;  /* names of OpenSSL's; no group: RSA, or Ed25519 without a digest */
    size_t point_size;
} kinds[] = {
    {"ssh-ed25519", "ssh-ed25519", NULL, NULL, 0},
    {"ecdsa-sha2-nistp256", "ecdsa-sha2-nistp256", "P-256", "SHA256", 65},
    {"ecdsa-sha2-nistp384", "ecdsa-sha2-nistp384", "P-384", "SHA384", 97},
    {"ecdsa-sha2-nistp521", "ecdsa-sha2-nistp521", "P-521", "SHA512", 133},
    {"ssh-rsa", "rsa-sha2-256", NULL, "SHA256", 0},
    {"ssh-rsa", "rsa-sha2-512", NULL, "SHA512", 0},
};

static struct reader reader_of(struct bytes bytes)
{
    return (struct reader){
        .at = (const uint8_t *)bytes.at, .size = bytes.size, .failed = !bytes_known(bytes)};
}

static bool is_word(struct reader part, const char *word)
{
    return !part.failed && part.size == strlen(word) && memcmp(part.at, word, part.size) == 0;
}

/* The kind that key and signature name. Moves both readers past the name. NULL: they do not fit, or the kind is unknown. */
static const struct kind *find_kind(struct reader *key, struct reader *signature)
{
    struct reader key_name = reader_vector(key, 4), signature_name = reader_vector(signature, 4);
    for (size_t i = 0; i < array_len(kinds); i++) {
        if (is_word(key_name, kinds[i].key) && is_word(signature_name, kinds[i].signature))
            return &kinds[i];
    }
    return NULL;
}

static EVP_PKEY *make_key(const char *type, OSSL_PARAM_BLD *build)
{
    EVP_PKEY *key = NULL;
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(build);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    if (!params || !context || EVP_PKEY_fromdata_init(context) != 1 ||
        EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, params) != 1)
        key = NULL;
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_free(params);
    return key;
}

static EVP_PKEY *read_curve(struct reader *key, const struct kind *kind)
{
    struct reader curve = reader_vector(key, 4), point = reader_vector(key, 4);
    if (key->failed || key->size || point.size != kind->point_size ||
        !is_word(curve, kind->key + strlen("ecdsa-sha2-")))
        return NULL;
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    EVP_PKEY *made =
        build && OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, kind->group, 0) == 1 &&
                OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point.at, point.size) == 1
            ? make_key("EC", build)
            : NULL;
    OSSL_PARAM_BLD_free(build);
    return made;
}

/* A positive number of ssh's, without leading zeros beyond the one that its sign needs. */
static BIGNUM *read_number(struct reader *reader, size_t least, size_t most)
{
    struct reader number = reader_vector(reader, 4);
    if (number.failed || number.size == 0 || number.at[0] & 0x80)
        return NULL;
    if (number.at[0] == 0)
        reader_number(&number, 1);
    return number.size >= least && number.size <= most ? BN_bin2bn(number.at, (int)number.size, NULL) : NULL;
}

static EVP_PKEY *read_rsa(struct reader *key)
{
    BIGNUM *exponent = read_number(key, 1, 8), *modulus = read_number(key, RSA_SMALLEST, RSA_LARGEST);
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    bool is_whole = build && exponent && modulus && !key->failed && key->size == 0;
    EVP_PKEY *made = is_whole && OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, modulus) == 1 &&
                             OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, exponent) == 1
                         ? make_key("RSA", build)
                         : NULL;
    OSSL_PARAM_BLD_free(build);
    BN_free(exponent);
    BN_free(modulus);
    return made;
}

static EVP_PKEY *read_key(struct reader *key, const struct kind *kind)
{
    if (kind->group)
        return read_curve(key, kind);
    if (kind->digest)
        return read_rsa(key);
    struct reader point = reader_vector(key, 4);
    return !key->failed && key->size == 0 && point.size == ED25519_KEY
               ? EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, point.at, point.size)
               : NULL;
}

/* ssh has two numbers, OpenSSL wants them in DER. Returns its size; 0: they are not numbers of such a signature. */
static size_t encode_curve(struct reader signature, size_t point_size, unsigned char **ret_der)
{
    size_t most = point_size / 2;
    BIGNUM *r = read_number(&signature, 1, most), *s = read_number(&signature, 1, most);
    ECDSA_SIG *both = ECDSA_SIG_new();
    int size = 0;
    if (both && r && s && signature.size == 0 && ECDSA_SIG_set0(both, r, s) == 1) {
        r = s = NULL; /* they are part of it now */
        size = i2d_ECDSA_SIG(both, ret_der);
    }
    BN_free(r);
    BN_free(s);
    ECDSA_SIG_free(both);
    return size > 0 ? (size_t)size : 0;
}

static bool verify(EVP_PKEY *key, const struct kind *kind, const uint8_t *signature, size_t size,
                   struct bytes signed_bytes)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool is_valid =
        context && EVP_DigestVerifyInit_ex(context, NULL, kind->digest, NULL, NULL, key, NULL) == 1 &&
        EVP_DigestVerify(context, signature, size, (const uint8_t *)signed_bytes.at, signed_bytes.size) == 1;
    EVP_MD_CTX_free(context);
    return is_valid;
}

bool host_key_verify(struct bytes host_key, struct bytes signature, struct bytes signed_bytes)
{
    struct reader key_reader = reader_of(host_key), signature_reader = reader_of(signature);
    const struct kind *kind = find_kind(&key_reader, &signature_reader);
    struct reader blob = reader_vector(&signature_reader, 4);
    bool is_ed25519 = kind && !kind->digest;
    if (!kind || blob.failed || signature_reader.size || !bytes_known(signed_bytes) ||
        (is_ed25519 && blob.size != ED25519_SIGNATURE))
        return false;
    EVP_PKEY *key = read_key(&key_reader, kind);
    unsigned char *der = NULL;
    size_t size = kind->group ? encode_curve(blob, kind->point_size, &der) : blob.size;
    bool is_valid = key && size && verify(key, kind, der ? der : blob.at, size, signed_bytes);
    OPENSSL_free(der);
    EVP_PKEY_free(key);
    return is_valid;
}
