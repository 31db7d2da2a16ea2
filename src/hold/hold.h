/*
 * Keeps frozen and flagged paths as they should be, before, while and after a command runs. The launcher pins files that
 * exist; this room does what a pin cannot do:
 *
 *   stub.c     before: makes a harmless file where a git control file is missing, so that it can be pinned
 *   modes.c    without namespaces, before: takes the right to write from frozen files, where no mount can hold them
 *   content.c  before: reads frozen and flagged files, to compare and to restore them
 *   aside.c    moves files that must not stay into the session's folder
 *   alias.c    before: further names of a frozen file, by which it could be written
 *   replaced.c what stays of a frozen file that was replaced meanwhile
 *   hold.c     the states of a frozen path, and the order of all this
 *
 * Runs outside, on trees that the sandbox writes: follows no link, executes nothing, deletes nothing but its own stubs.
 */
#pragma once

#include "hold/content.h"
#include "hold/modes.h"
#include "hold/stub.h"
#include "journal/session.h"
#include "plan/amendments.h"
#include "plan/plan.h"

/* A frozen path, as it was when the command started. */
struct frozen {
    size_t operation; /* its place in the plan */
    dev_t device;
    ino_t inode;
    file_contents before; /* what bawn left there last: the start, and then what stayed of each change */
    bool fell;            /* its pin fell, because the host replaced the object */
    bool is_due;          /* it has changed since, and is to be decided about */
    bool is_read;         /* `before` is known. A run that fails earlier has run no command */
};

/* A socket that a program outside opened while the command ran. */
struct opened {
    const char *path;
    size_t operation; /* the amendment that hides it */
    bool is_hidden;   /* was so at least once */
};

/* A file or tree that a person gave to the running command. The sockets that were in it then are hidden. */
struct given_tree {
    const char *path;
    struct timespec since; /* as the kernel dates files: before it was shown */
    bool is_written, is_directory;
};

/* Something in such a tree that git on the host obeys: inside, this object could only be read. */
struct kept_place {
    const char *path;
    dev_t device;
    ino_t inode;
};

/* Settings of git's that were taken out of a file, and that a person may add. */
struct addition {
    size_t operation;     /* of the frozen path */
    const char *path;     /* of the file */
    const char *shown;    /* the settings with their values: any bytes */
    struct bytes text;    /* what is added */
    struct bytes instead; /* what then goes */
    const char *notice;   /* is said at the end, unless they are added */
    unsigned question;    /* the asker's own number for it */
};

/* Who hears at once of what happens to frozen files. NULL: nobody. */
struct hold_person {
    void (*tell)(void *context, const char *sentence);
    bool (*ask)(void *context, size_t addition); /* returns whether the person was asked */
    void *context;
};

struct hold {
    struct arena *arena;
    const struct plan *plan;
    struct amendments *amendments;
    struct session *session;
    struct stubs stubs;
    struct modes modes; /* without namespaces: what keeps the frozen files from being written */
    VEC(struct frozen) frozen;
    VEC(struct opened) opened;
    VEC(struct given_tree) given;
    VEC(struct kept_place) kept;
    VEC(const char *) notices; /* sentences without a full stop, for the user */
    VEC(struct addition) additions;
    struct hold_person person;
    bool is_over; /* every process of the sandbox has ended */
    bool
        has_put; /* bawn has put a file in the place of a frozen one, which is to be pinned before anything inside goes on */
};

/* An operation of the plan with its amendments, or a hidden path among those. */
struct operation hold_operation(const struct hold *hold, size_t number);

/* Does the command write an overlay or a copy in the place of the host's tree? Then what changes at this path is not its doing. */
bool hold_keeps_aside(const struct hold *hold, const char *path);

/* Does the plan miss a control file of git's, for which a stub would be made in the workspace? */
bool hold_needs_stub(const struct plan *plan);

/* Before the launch. Missing control files of git get a stub; amendments say that they are no longer missing. */
int hold_begin(struct hold *hold, struct err *err) must_check;

/* Before the command begins: reads the frozen files. Fails where one of them could be written by another name. */
int hold_read(struct hold *hold, struct err *err) must_check;

/*
 * alias.c: a second name of the file, a hard link, in a tree that the command may write; NULL where there is none. A mount
 * holds one name. Walks the writable trees, so call it only for files with several names. Fails where a part of them could not
 * be searched.
 */
int alias_find(const struct hold *hold, const struct file_content *content, const char **ret_alias,
               struct err *err) must_check;

/* The same for one file or tree. */
int alias_find_in(const struct hold *hold, const struct file_content *content, const char *path,
                  const char **ret_alias, struct err *err) must_check;

/* Is one of the frozen objects no longer the one that was there before the launch? */
bool hold_was_replaced(const struct hold *hold);

/* Without namespaces: the host has put other objects in the place of frozen ones. Takes the right to write from those, too. */
int hold_lower_again(struct hold *hold, struct err *err) must_check;

/* A pin fell and was made again: is there something to decide about? */
void hold_fell(struct hold *hold, size_t operation);

/* What stands at a path cannot be pinned, a link for example: decides about it at once, while everything inside stands still. */
void hold_cannot_pin(struct hold *hold, size_t operation);

/* Is there, and has a file changed in the last moment? Then the program that changes it may not be done: `git remote add` writes twice. */
bool hold_is_due(const struct hold *hold, bool *ret_is_changing);

/* Compares what is due with what bawn left there, and decides about the differences. */
void hold_decide_due(struct hold *hold);

/* replaced.c: a person wants these settings, which were taken out: adds them. To be called while nothing inside runs. */
int hold_add_settings(struct hold *hold, size_t number, struct err *err) must_check;

/* Does a mount hold each frozen path? */
bool hold_has_pins(const struct hold *hold);

/* What is known of a frozen path; NULL where it was missing. */
struct frozen *hold_frozen_at(struct hold *hold, size_t operation);

/* The same for every path whose pin ever fell: a process that opened the file in that moment can still write it. */
void hold_look_at_fallen(struct hold *hold);

/*
 * Moves aside frozen and hidden paths that did not exist at the start and exist now. Fails where it cannot. Returns 1, with *err, where
 * a directory on the way is closed to its owner, so that some paths could not be looked at.
 */
int hold_sweep(struct hold *hold, struct err *err) must_check;

/* A frozen path is gone. Returns whether a stub stands there now, which can be pinned. Without one the path is missing from now on. */
bool hold_stand_in(struct hold *hold, size_t operation);

/* Opens trees that the command closed to their owner, so that the searches at the end can read them. */
void hold_reopen(struct hold *hold);

/* All processes of the sandbox have ended: compares, decides, and removes the stubs. */
void hold_end(struct hold *hold);

/* What was read of the frozen files is needed until the flagged files were searched. */
void hold_free(struct hold *hold);

/*
 * Is it a frozen file as it was at the start? Without namespaces its times do not tell: bawn has changed its mode, and changed it
 * back.
 */
bool hold_is_as_frozen(const struct hold *hold, const struct file_content *now);

/* Writes an event to the journal and, unless it is NULL, keeps a notice for the user. */
void hold_note(struct hold *hold, const char *event, const char *path, const char *notice);

/* --- given.c: what a person gives to the running command --- */

/* Fails where the file or tree would give a frozen file a second name. */
int hold_may_give(const struct hold *hold, const char *path, struct err *err) must_check;

/* From now on it is shown, too. */
void hold_give(struct hold *hold, const struct given_tree *given);

/* In such a tree this path is hidden, or an object can only be read. Both are held as those of the plan. */
void hold_give_hidden(struct hold *hold, const char *path);
void hold_give_kept(struct hold *hold, const struct kept_place *kept);

/* Could the command write the path, because a person gave it? */
bool hold_was_given(const struct hold *hold, const char *path);

/* Does the path lie in an object that the command could only read, from the moment at which it saw it? */
bool hold_was_kept(const struct hold *hold, const char *path);

/* opened.c: sockets that programs outside opened in trees that are shown, since that moment, as the kernel dates files. */

/* Can they be told from the command's own? */
bool hold_can_tell_opened(const struct hold *hold);

enum { OPEN_TREES_SIZE = 4096 };

/* The trees in which they would answer, as a list of kernel/unix_sockets.h; "/" where there is no room for all. */
void hold_list_open_trees(const struct hold *hold, char *ret_list, size_t capacity);

/* Amends that the new ones are hidden, and names them. Returns whether there are any, new or known: their covers may have fallen. */
bool hold_hide_opened(struct hold *hold, struct timespec since);

/* At the end: names those that were not hidden. */
void hold_name_opened(struct hold *hold, struct timespec since);

/* Was a path hidden for the first time? Then nothing fell. */
bool hold_opened_is_hidden(struct hold *hold, size_t operation);
