/*
 * The message with which the network helper hands a connection to the vault: this head, then the client's first bytes, which the helper
 * has read and judged. Three descriptors come with it: the client's socket, the server's, and the *tether*, which the vault keeps open
 * as long as it serves the connection.
 */
#pragma once

#include <stdint.h>

/* What the two processes of the vault are called with as their first word. */
#define VAULT_FRONT "bawn-vault-front"
#define VAULT_BACK  "bawn-vault-back"

/* The same of the two that serve a connection to bawn's ssh agent. */
#define AGENT_FRONT "bawn-vault-agent-front"
#define AGENT_BACK  "bawn-vault-agent-back"

enum { HANDED_LONGEST_HOST = 253, HANDED_LARGEST_FIRST = 64 * 1024, HANDED_DESCRIPTORS = 3 };

enum { VAULT_LOCKED = 64 * 1024 }; /* bytes of memory that the back locks */

struct handed_connection {
    char host[HANDED_LONGEST_HOST + 1]; /* the name that was asked for, ended by NUL */
    uint16_t port;
};
