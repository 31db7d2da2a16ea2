/* Parts of the page of a session: those with a file of their own, and those that are also sent on their own. */
#pragma once

#include "journal/journal.h"
#include "report/facts.h"
#include "web/visit.h"

/* One record as a row of the timeline. `home` is shown as ~. */
void timeline_add_row(struct html *page, struct arena *arena, const struct journal_record *record,
                      const char *home);

/* The box on top: open questions, changes that wait, and what the journal has that a person should look at. */
void attention_add(struct visit *visit, const struct session_facts *facts, const struct listed *listed);
