/* Base64 (RFC 4648), with padding. */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/bytes.h"

const char *base64_of(struct arena *arena, struct bytes bytes) returns_text;
void base64_add(struct buf *out, struct bytes bytes);

/* Adds the decoded bytes. Returns false for any text that base64_add would not have written: nothing is added then. */
bool base64_decode(struct buf *out, struct bytes text) must_check;
