/*
 * Who gets a place
 *
 * The helper has places for a bounded number of connections: MOST_CONNECTIONS, or as many as there are descriptors for. A
 * program inside can take all of them. Three rules keep others from waiting for it:
 *
 *   1. A client that has a place and says nothing loses it after a moment, the oldest first. So does one that was refused.
 *   2. A listener whose client has waited for a moment takes a place from the listener that has most, if that one has at
 *      least two more. The newest connection there loses its place: it had a place that nobody else wanted.
 *   3. Otherwise that listener alone is paused, until a connection ends. All others go on.
 *
 * Only rule 3 holds for a published port: who connects there takes nothing from the sandbox.
 */
#include "egress/connection.h"

enum { MOMENT = 250 }; /* milliseconds */

static bool has_room(const struct egress *egress)
{
    size_t descriptors = 2 * (egress->connection_count + 1) + egress->listeners.count;
    return egress->connection_count < MOST_CONNECTIONS && descriptors <= egress->most_descriptors;
}

static struct connection *oldest_silent(const struct egress *egress, int64_t now)
{
    for (struct connection *at = egress->oldest; at && now - at->accepted >= MOMENT; at = at->previous) {
        if (at->stage == STAGE_INSPECT || at->stage == STAGE_FAREWELL)
            return at;
    }
    return NULL;
}

static struct connection *newest_of_largest(const struct egress *egress, const struct listener *needy)
{
    const struct listener *largest = needy;
    for (const struct listener *at = egress->listeners.first; at; at = at->next) {
        if (at->connections > largest->connections)
            largest = at;
    }
    if (largest->connections < needy->connections + 2)
        return NULL;
    struct connection *newest = egress->connections;
    while (newest && newest->listener != largest)
        newest = newest->next;
    return newest;
}

bool room_make(struct egress *egress, struct listener *listener)
{
    if (has_room(egress))
        return true;
    int64_t now = now_milliseconds();
    if (!listener->waits_since)
        listener->waits_since = now;
    struct connection *silent = NULL, *newest = NULL;
    if (!listener->published)
        silent = oldest_silent(egress, now);
    if (!listener->published && !silent && now - listener->waits_since >= MOMENT)
        newest = newest_of_largest(egress, listener);
    if (silent)
        tell_trouble(&egress->tell, "too many connections are open: silent ones are reset");
    else if (newest)
        tell_trouble(&egress->tell, "too many connections are open: a host with many loses some to others");
    if (silent || newest)
        connection_reset(silent ? silent : newest);
    bool has_place = has_room(egress);
    if (!has_place && listener->watcher.is_open) /* an arrival without a place is reset */
        listener_pause(listener);
    return has_place;
}
