/* The fleets of this user, for pages: bawn's own folders for them, which no sandbox writes. */
#pragma once

#include "fleet/overview.h"
#include "web/visit.h"

struct fleet_row {
    const char *name;  /* of bawn's own folder, and of the page */
    const char *shown; /* the folder of results */
    const char *command;
    int64_t began;      /* seconds */
    size_t tasks, seen; /* the latter: those that the rest is about */
    size_t counts[TASK_STATE_COUNT];
    size_t to_review;    /* sessions that wait */
    struct result total; /* the sums of the numbers; the largest process */
};
typedef VEC(struct fleet_row) fleet_rows;

/*
 * Lists them, latest first. Each session of a task is put into `ret_of` with the name of its fleet: those are not listed on their own.
 * `sessions` are all of them. The texts lie in the visit's arena.
 */
void fleets_find(struct visit *visit, const listed_list *sessions, fleet_rows *ret_rows, struct map *ret_of);

/* Opens a fleet by the name of its page. Returns -1 if there is none. */
int fleets_open(const struct visit *visit, const char *name, struct fleet *ret_fleet) must_check;
bool fleet_is_there(const struct visit *visit, const char *name);

/* The session of a task, or NULL: of its result, or of the attempt that runs. */
const char *fleet_session(struct visit *visit, const struct fleet *fleet, const struct overview_task *task);

/* Fills a row: first from the fleet, then from each task. */
void fleet_describe(struct visit *visit, const struct fleet *fleet, struct fleet_row *row);
void fleet_take_task(struct fleet_row *row, const struct overview_task *task);

/* How far it is, what came of it, what it took. */
void fleet_add_progress(struct html *page, const struct fleet_row *row);
void fleet_add_results(struct html *page, const struct fleet_row *row);
void fleet_add_cost(struct visit *visit, const struct fleet_row *row);

/* Of a result, or of the sum of some: what a person should look at first. */
void fleet_add_alarms(struct html *page, const struct result *result);

/* The row of the list. */
void fleet_add_row(struct visit *visit, const struct fleet_row *row);
