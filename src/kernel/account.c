#include "kernel/account.h"

#include <stdio.h>

bool account_find(uid_t uid, struct passwd *ret_account, char room[ACCOUNT_LARGEST])
{
    FILE *accounts = fopen("/etc/passwd", "re");
    struct passwd *found = NULL;
    while (accounts && fgetpwent_r(accounts, ret_account, room, ACCOUNT_LARGEST, &found) == 0 &&
           found->pw_uid != uid)
        found = NULL;
    if (accounts)
        fclose(accounts);
    return found != NULL;
}
