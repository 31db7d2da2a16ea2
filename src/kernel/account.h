/* Accounts of this machine. */
#pragma once

#include <pwd.h>
#include <stdbool.h>
#include <sys/types.h>

enum { ACCOUNT_LARGEST = 4096 };

/*
 * Finds the account of a user in /etc/passwd; its texts lie in `room`. Other sources of accounts are plug-ins, which a static program
 * cannot load.
 */
bool account_find(uid_t uid, struct passwd *ret_account, char room[ACCOUNT_LARGEST]);
