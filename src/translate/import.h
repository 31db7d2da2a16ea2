/* What the readers of formats share: lines of a policy that grow, each below a comment with what the source says. */
#pragma once

#include "translate/export.h"
#include "translate/translate.h"

struct import {
    struct arena *arena;
    struct translation *translation;
    const char *text; /* of the file; NUL-terminated, without a NUL in it */
    size_t size;
    bool has_patterns; /* a * in a path of the format is a wildcard */
    bool collects;     /* the first of two passes: only the lists below count */
    text_list hidden;  /* what the file hides, as patterns */
    text_list kept;    /* what it makes read-only */
    text_list opened;  /* what it shows again inside what it hides */
    text_list written; /* what it makes writable */
};

/* One reader for each format. Returns -1 if the file is not in the format. */
typedef int import_function(struct import *import, struct err *err);
import_function import_bwrap, import_claude, import_codex, import_firejail, import_nono, import_safehouse,
    import_seatbelt, import_srt;

/* Begins an item: a comment with what the source says. Every item is followed by rules, or by what becomes of it. */
void import_item(struct import *import, const char *format, ...) printf_like(2, 3);

/* Adds a rule, if bawn can parse it; otherwise says so and reports the loss. The object is a word as a policy has it. */
void import_rule(struct import *import, enum verb verb, const char *object);

/* The item is not translated. */
void import_left(struct import *import, enum lost_kind kind, const char *why);

/* Nothing needs to be done for the item. */
void import_needless(struct import *import, const char *why);

/*
 * Rules about a path as the source spells it: absolute, from ~ or $HOME, or relative to the project. A grant of what bawn has of
 * its own (/tmp, /proc, the home directory as a whole) is left out, and so is one that the file refuses elsewhere.
 */
void import_read(struct import *import, const char *path);
void import_reopen(struct import *import,
                   const char *path); /* readable, though the file hides a place around it */
void import_write(struct import *import, const char *path);
void import_hide(struct import *import, const char *path);
void import_hide_pattern(struct import *import, const char *pattern); /* with *, ? and ** */
void import_keep(struct import *import, const char *path);            /* not writable, where it would be */
void import_socket(struct import *import, const char *path);

void import_connect(struct import *import, const char *host);
void import_refuse(struct import *import, const char *host);
void import_no_network(struct import *import);

void import_pass(struct import *import, const char *name);
void import_set(struct import *import, const char *name, const char *value);
void import_unset(struct import *import, const char *name);

/* --- import_json.c --- */

struct json_value;

/* What becomes of one string of a list, or of one value. */
typedef void import_text_function(struct import *import, const char *text);
typedef void import_value_function(struct import *import, struct json_value value);

/* What becomes of a key of an object, in this order. A list of strings goes to `each`; anything else to `whole`. */
struct import_key {
    const char *key;
    import_text_function *each;
    import_value_function *whole;
    enum lost_kind lost; /* if it cannot be translated */
};

/* Keys that the table does not have are reported as not translated. */
void import_object(struct import *import, struct json_value object, const char *where,
                   const struct import_key *keys, size_t count);

/* The member of an object; false if it has none of that name, or two. */
bool import_member(struct json_value object, const char *key, struct json_value *ret_value);

bool import_is_true(struct json_value value);
bool import_is_empty(struct json_value array);

/* Reads the file as one JSON object. */
int import_json(struct import *import, struct json_value *ret_object, struct err *err) must_check;

/* --- srt.c: also the inner part of Claude Code's settings --- */

void srt_import_filesystem(struct import *import, struct json_value object);
void srt_import_network(struct import *import, struct json_value object);
