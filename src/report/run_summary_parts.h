/* What more than one form of the summary at the end of a run says. */
#pragma once

#include "report/summary.h"

enum { SUMMARY_MOST_OFFERED = 4 }; /* commands that open a refused host */

/* "1 m 12 s" */
const char *summary_elapsed(const struct run_summary *summary) returns_text;

/* What `bawn allow` takes: "other.test", "other.test:22". A name without a port probably means https. */
const char *summary_refused(struct arena *arena, const struct refused_host *refused) returns_text;

/* What may be typed to open a refused host. */
struct summary_offer {
    const char *command, *what;
};

/*
 * The commands that would open the refused hosts for one run; returns how many. What asked for a host is untrusted, and bawn
 * does not know which hosts take uploads: so none is offered for all runs, and none after an alarm. It helps only if no rule lists the name:
 * refusals for other reasons say what would help. What a rule refuses by name, such as an agent's telemetry, is refused on purpose.
 */
size_t summary_offers(const struct run_summary *summary,
                      struct summary_offer ret_offers[SUMMARY_MOST_OFFERED]);

/* Of tripwires, misused secrets, leaks and refused keys. */
size_t summary_count_alarms(const struct run_summary *summary);
