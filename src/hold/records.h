/*
 * A folder of records of what sessions have done to the user's files and must undo. A session that relies on a record has a shared lock on it. A
 * record without a lock was left by a bawn that was killed.
 */
#pragma once

#include "base/attr.h"
#include "base/err.h"

/* One session at a time makes or removes records. Returns a descriptor, which is the lock. */
int records_lock(const char *folder, struct err *err) must_check;
