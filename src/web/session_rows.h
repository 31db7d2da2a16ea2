/* Parts of the page of a session that are also sent on their own. */
#pragma once

#include "journal/journal.h"
#include "web/html.h"

/* One record as a row of the timeline. `home` is shown as ~. */
void timeline_add_row(struct html *page, struct arena *arena, const struct journal_record *record,
                      const char *home);
