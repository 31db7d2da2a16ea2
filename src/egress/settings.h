/* Lines of words from bawn: first a file with all settings, then single lines while the command runs. */
#pragma once

#include "egress/egress.h"

int settings_open_link(struct egress *egress, int link_fd) must_check;
int settings_read(struct egress *egress, int settings_fd, struct err *err) must_check;

/* asks.on_reply: sends the confirmations that waited for it. */
void settings_confirm(struct asks *asks);

/* A descriptor that bawn passed on, as text. */
bool settings_parse_fd(const char *text, int *ret_fd);
