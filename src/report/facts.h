/* What a session's journal says: its records, what needs attention, and the hosts. For pages; the texts may be any bytes. */
#pragma once

#include <stdint.h>

#include "report/event.h"

struct session_facts {
    struct arena *arena;
    VEC(struct journal_record) records;
    const char *integrity; /* a sentence: is the hash chain intact? */
    bool is_whole;         /* it is */
    bool is_cut;           /* the journal is larger than what is read of it */
    uint64_t size;         /* bytes that were read, up to the last whole record */
};

/* Reads and verifies the journal. */
void facts_read(struct arena *arena, int session_fd, struct session_facts *ret_facts);
void facts_free(struct session_facts *facts);

/* The first record of an event, or NULL. */
const struct journal_record *facts_find(const struct session_facts *facts, const char *event);

/* Events that could not be written, or were too many. */
uint64_t facts_lost(const struct session_facts *facts);

/* The records that a person should look at, and the verb that shows more. */
struct finding {
    const char *event, *field;
    const char *one, *many;   /* "1 decoy was opened", "2 decoys were opened" */
    const char *verb, *flags; /* bawn VERB SESSION FLAGS */
};
extern const struct finding findings[];
extern const size_t finding_count;

/* Beyond this many different names they are "at least" so many: comparing more of them would take too long. */
enum { FACTS_MOST_NAMES = 1000 };
typedef VEC(const char *) text_list;

/* The different names in records of one event, in their order. */
void facts_names(const struct session_facts *facts, const struct finding *finding, text_list *ret_names);

struct session_host {
    const char *name, *port;
    uint64_t connections, sent, received, refused;
    const char *why; /* of the last refusal; NULL: none */
};
typedef VEC(struct session_host) session_hosts;

void facts_hosts(const struct session_facts *facts, session_hosts *ret_hosts);
