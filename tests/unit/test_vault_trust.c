/* The machine's trust store: the folder is asked first, the file is parsed when the folder has no answer, and then it has one. */
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <stdlib.h>
#include <unistd.h>

#include "unit.h"
#include "vault/trust_store.h"

enum { MANY = 10 }; /* a trust store has more, a lookup finds fewer */

/* The first certificate of the machine's file; NULL: this machine has none. */
static X509 *some_authority(void)
{
    BIO *file = BIO_new_file(X509_get_default_cert_file(), "r");
    X509 *found = file ? PEM_read_bio_X509(file, NULL, NULL, NULL) : NULL;
    BIO_free(file);
    return found;
}

static int known(SSL_CTX *context)
{
    return sk_X509_OBJECT_num(X509_STORE_get0_objects(SSL_CTX_get_cert_store(context)));
}

static SSL_CTX *open_store(const char *folder, const char *file)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    CHECK(context);
    setenv(X509_get_default_cert_dir_env(), folder, 1);
    if (file)
        setenv(X509_get_default_cert_file_env(), file, 1);
    else
        unsetenv(X509_get_default_cert_file_env());
    CHECK(trust_store_open(context) == 0);
    return context;
}

static bool is_trusted(SSL_CTX *context, X509 *certificate)
{
    X509_STORE_CTX *check = X509_STORE_CTX_new();
    CHECK(check && X509_STORE_CTX_init(check, SSL_CTX_get_cert_store(context), certificate, NULL) == 1);
    X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(check), X509_V_FLAG_NO_CHECK_TIME);
    bool result = X509_verify_cert(check) == 1;
    X509_STORE_CTX_free(check);
    return result;
}

/* A certificate that nobody trusts, with the name of one that is. */
static X509 *forged(X509 *model)
{
    X509 *made = X509_dup(model);
    EVP_PKEY *key = EVP_EC_gen("P-256");
    CHECK(made && key && X509_set_pubkey(made, key) && X509_sign(made, key, EVP_sha256()));
    EVP_PKEY_free(key);
    return made;
}

TEST(the_file_is_parsed_when_the_folder_has_no_answer)
{
    X509 *authority = some_authority();
    if (!authority)
        SKIP("this machine has no file of trusted certificates");
    SSL_CTX *context = open_store("/nowhere", NULL);
    CHECK_INT(known(context), 0);
    CHECK(is_trusted(context, authority));
    CHECK(known(context) > MANY);
    CHECK(is_trusted(context, authority)); /* and once more, from what is there */
    X509 *false_one = forged(authority);
    CHECK(!is_trusted(context, false_one));
    X509_free(false_one);
    X509_free(authority);
    SSL_CTX_free(context);
}

TEST(what_the_folder_has_needs_no_file)
{
    X509 *authority = some_authority();
    const char *folder = X509_get_default_cert_dir();
    if (!authority || access(folder, R_OK) < 0)
        SKIP("this machine has no folder of trusted certificates");
    SSL_CTX *context = open_store(folder, NULL);
    CHECK(is_trusted(context, authority));
    if (known(context) > MANY)
        SKIP("the folder of this machine has not all of them");
    CHECK_INT(known(context), 1);
    X509 *false_one = forged(authority);
    CHECK(!is_trusted(context, false_one));
    CHECK_INT(known(context), 1); /* the name is known: the file could only say the same */
    X509_free(false_one);
    X509_free(authority);
    SSL_CTX_free(context);
}

TEST(a_file_that_the_user_named_is_parsed_at_once)
{
    X509 *authority = some_authority();
    if (!authority)
        SKIP("this machine has no file of trusted certificates");
    SSL_CTX *own = open_store("/nowhere", X509_get_default_cert_file());
    CHECK(known(own) > MANY);
    CHECK(is_trusted(own, authority));
    SSL_CTX_free(own);
    SSL_CTX *none = open_store("/nowhere", "/dev/null");
    CHECK_INT(known(none), 0);
    CHECK(!is_trusted(none, authority)); /* the machine's own file is not asked then */
    SSL_CTX_free(none);
    X509_free(authority);
}

UNIT_MAIN()
