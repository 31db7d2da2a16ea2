/*
 * A document of GraphQL: one query or one mutation, and its fragments. Strict, and only what clients of pull requests use: no comment, directive or
 * block string, and no character above ASCII. `text` is the document again, written from the words that were understood, so
 * that a server reads what was judged. Pure.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"

enum { GRAPHQL_LARGEST = 64 * 1024, GRAPHQL_DEEPEST = 32 };

enum graphql_kind {
    GRAPHQL_VARIABLE, /* `text` is its name */
    GRAPHQL_STRING,   /* `text` is what it stands for; NULL: it has an escape */
    GRAPHQL_OBJECT,   /* `members` */
    GRAPHQL_OTHER,    /* a number, a word or a list */
};

struct graphql_value {
    enum graphql_kind kind;
    const char *text;
    const struct graphql_pair *members;
};

/* An argument, or the member of an object. No two have the same name. */
struct graphql_pair {
    const char *name;
    struct graphql_value value;
    const struct graphql_pair *next;
};

/* One thing that is asked for. */
struct graphql_field {
    const char *name;     /* NULL: a fragment, whose fields stand here */
    const char *key;      /* its name in the answer */
    const char *fragment; /* the name of the fragment; NULL: `fields` are its fields */
    const struct graphql_pair *arguments;
    const struct graphql_field *fields; /* NULL: none */
    const struct graphql_field *next;
};

struct graphql_fragment {
    const char *name;
    const struct graphql_field *fields;
    const struct graphql_fragment *next;
};

struct graphql_document {
    bool is_mutation;
    const struct graphql_field *fields;
    const struct graphql_fragment *fragments;
    struct buf text; /* graphql_free frees it */
};

/* Returns NULL, or a sentence's end that says what is wrong with the document. */
const char *graphql_read(struct arena *arena, const char *text, struct graphql_document *ret_document)
    must_check;
void graphql_free(struct graphql_document *document);

/* Is it made of the bytes that names have? */
bool graphql_is_name(const char *text);

/* The value of the argument, or of the member; NULL: there is none of this name. */
const struct graphql_value *graphql_find(const struct graphql_pair *pairs, const char *name);
