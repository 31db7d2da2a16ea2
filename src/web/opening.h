/*
 * How the browser gets the page's address. Command lines can be read by every process of the machine, also by a run without namespaces; so the
 * browser is started with the name of a file, which leads it to the address. The file has mode 0600, in a folder of bawn's state that only the user
 * can enter and that no run can see. It is removed at the first visit, and at the end.
 */
#pragma once

#include "session/caller.h"
#include "web/web.h"

/* Is there a browser to start? */
bool opening_is_possible(const struct caller *caller);

/* Makes the file and starts the browser. From then on place->opening is its path. */
int opening_begin(const struct caller *caller, struct arena *arena, struct web_place *place, const char *page,
                  struct err *err) must_check;

/* Removes the file, if there is one. */
void opening_end(const struct web_place *place);
