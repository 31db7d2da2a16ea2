/*
 * The certificates that this machine trusts, as OpenSSL finds them: a file with all of them, and a folder with one file for each, named after
 * the hash of its subject. A server's certificate needs one or two. Parsing the whole file takes 36 milliseconds, so the folder is asked
 * first; the file is parsed when a subject is not in the folder. A file that the user named (SSL_CERT_FILE) is parsed at once: what it says about a
 * subject comes before what the machine's folder says.
 */
#pragma once

#include <openssl/ssl.h>

#include "base/attr.h"

/* Before the walls: the file may lie outside them. */
int trust_store_open(SSL_CTX *context) must_check;
