/* Looks from outside whether an attack had an effect: on files, on a process, on listening sockets. */
#pragma once

#include "base/names.h"
#include "base/vec.h"
#include "prove/targets.h"

#define SENSORS(X)                                                                                           \
    X(SENSOR_CANARY, "a secret leaked")                                                                      \
    X(SENSOR_FILES, "a decoy file was changed")                                                              \
    X(SENSOR_VICTIM, "a process of the host was reached")                                                    \
    X(SENSOR_LISTENERS, "a server of the host was reached")                                                  \
    X(SENSOR_TERMINAL, "something was typed into the terminal")                                              \
    X(SENSOR_OUTLIVES, "a process lived on after the run")                                                   \
    X(SENSOR_LEFT, "something was left in the repository after the run")

enum sensor { SENSORS(ID_OF) SENSOR_COUNT };

typedef unsigned sensor_set;

const char *sensor_says(enum sensor value);

struct listener {
    int fd;
    bool is_datagram;
    bool is_a_file; /* among the decoys: it is made anew with them at each repair */
};

struct sensors {
    const struct targets *targets;
    VEC(struct listener) listeners;
    unsigned tcp_port, tcp6_port, udp_port; /* 0: there is none */
    pid_t victim;                           /* leads a process group of its own */
    /* How things are while nothing happens. */
    uint64_t files;
    struct rlimit limit;
    int nice;
};

int sensors_begin(const struct targets *targets, struct sensors *ret_sensors, struct err *err) must_check;
void sensors_end(struct sensors *sensors);

/* From here on, this is how things are. */
void sensors_calm(struct sensors *sensors);

/* Which of files, victim and listeners show something. */
sensor_set sensors_read(struct sensors *sensors);

/* Puts back what these showed. Files are made anew: whoever stands in them must be started again. */
int sensors_repair(struct sensors *sensors, sensor_set tripped, struct err *err) must_check;

/*
 * fill.c: replaces each {NAME} in a word of a case by what it stands for here. NULL if this machine has no such thing;
 * then *ret_lacks says why (ret_lacks may be NULL).
 */
const char *fill(const struct targets *targets, const struct sensors *sensors, const char *text,
                 const char **ret_lacks);
