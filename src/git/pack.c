#include "git/pack.h"

#include <stdint.h>
#include <string.h>

#include "base/inflate.h"

enum { HEAD_SIZE = 12, COMMIT = 1, TAG = 4, OFFSET_DELTA = 6, NAME_DELTA = 7 };

/* The head of an entry, and where its compressed bytes begin. */
struct entry {
    unsigned kind;
    size_t size, base; /* `base`: of OFFSET_DELTA, the offset of the entry that it is made from */
    struct bytes stream;
};

void pack_begin(struct pack *pack, struct push *push)
{
    *pack = (struct pack){0};
    vec_each (struct push_command, command, &push->commands) {
        struct ancestry proof;
        if (!command->needs_proof || pack->proofs.count == PACK_MOST_PROOFS)
            continue;
        ancestry_begin(&proof, command);
        vec_push(&pack->proofs, proof);
        vec_push(&pack->proving, command);
    }
}

void pack_free(struct pack *pack)
{
    vec_each (struct ancestry, proof, &pack->proofs)
        ancestry_free(proof);
    vec_free(&pack->proofs);
    vec_free(&pack->proving);
    vec_free(&pack->commits);
    arena_free(&pack->arena);
}

/* --- proofs ------------------------------------------------------------------------------------------------------- */

/* The commit as `git cat-file --batch` prints it, for each proof. */
static void prove_with(struct pack *pack, struct bytes content)
{
    auto_buf struct buf text = {0};
    for (size_t i = 0; i < pack->proofs.count; i++) {
        struct ancestry *proof = &pack->proofs.at[i];
        if (proof->is_proven)
            continue;
        if (!text.size) {
            char name[SHA256_HEX_SIZE];
            if (!git_object_name("commit", content, proof->digits, name))
                return; /* it proves nothing */
            buf_printf(&text, "%.*s commit %zu\n", (int)proof->digits, name, content.size);
            buf_add(&text, content.at, content.size);
            buf_add_char(&text, '\n');
        }
        ancestry_take(proof, bytes_of(text.bytes, text.size));
        if (proof->is_proven)
            pack->proving.at[i]->needs_proof = false;
    }
}

static bool is_all_proven(const struct pack *pack)
{
    vec_each (const struct ancestry, proof, &pack->proofs) {
        if (!proof->is_proven)
            return false;
    }
    return true;
}

static size_t reached(const struct pack *pack)
{
    size_t count = 0;
    vec_each (const struct ancestry, proof, &pack->proofs)
        count += proof->reached.count;
    return count;
}

/* A proof needs children before their parents. Where the pack has a parent first, another round reaches it. */
static void finish(struct pack *pack)
{
    enum { MOST_ROUNDS = 4 };
    size_t before = 0;
    pack->is_done = true;
    for (size_t round = 0; round < MOST_ROUNDS && !is_all_proven(pack) && reached(pack) > before; round++) {
        before = reached(pack);
        for (size_t i = 0; i < pack->commits.count; i++)
            prove_with(pack, pack->commits.at[i].content);
    }
}

/* --- deltas ------------------------------------------------------------------------------------------------------- */

/* A number of 7 bits a byte, the lowest first. */
static bool take_number(struct bytes *bytes, size_t *ret_number)
{
    size_t number = 0;
    for (unsigned shift = 0; shift < 28 && bytes->size; shift += 7) {
        unsigned char byte = (unsigned char)*bytes->at;
        *bytes = bytes_after(*bytes, 1);
        number |= (size_t)(byte & 0x7f) << shift;
        if (byte & 0x80)
            continue;
        *ret_number = number;
        return true;
    }
    return false;
}

/* Takes the bytes of a number that `mask` says are there, the lowest first. */
static bool take_masked(struct bytes *delta, unsigned mask, size_t *ret_number)
{
    *ret_number = 0;
    for (unsigned shift = 0; mask; mask >>= 1, shift += 8) {
        if (!(mask & 1))
            continue;
        if (!delta->size)
            return false;
        *ret_number |= (size_t)(unsigned char)*delta->at << shift;
        *delta = bytes_after(*delta, 1);
    }
    return true;
}

/* Adds what the delta makes of the base. Returns false if it is malformed. */
static bool apply_delta(struct bytes base, struct bytes delta, struct buf *out)
{
    size_t before, after, offset, size;
    if (!take_number(&delta, &before) || !take_number(&delta, &after) || before != base.size ||
        after > ANCESTRY_LARGEST_COMMIT)
        return false;
    while (delta.size) {
        unsigned char order = (unsigned char)*delta.at;
        delta = bytes_after(delta, 1);
        bool is_copy = order & 0x80;
        struct bytes from = is_copy ? base : delta;
        offset = 0;
        size = order;
        if (is_copy &&
            (!take_masked(&delta, order & 0xf, &offset) || !take_masked(&delta, order >> 4 & 7, &size)))
            return false;
        if (is_copy && size == 0)
            size = 0x10000;
        if (size == 0 || offset > from.size || size > from.size - offset || size > after - out->size)
            return false;
        buf_add(out, from.at + offset, size);
        if (!is_copy)
            delta = bytes_after(delta, size);
    }
    return out->size == after;
}

/* --- entries ------------------------------------------------------------------------------------------------------ */

/* How far before its own entry the base of a delta begins. 1: read, 0: more bytes are needed, -1: malformed. */
static int take_distance(struct bytes *bytes, size_t *ret_distance)
{
    size_t distance = 0;
    for (size_t i = 0; i < 4; i++) {
        if (!bytes->size)
            return 0;
        unsigned char byte = (unsigned char)*bytes->at;
        *bytes = bytes_after(*bytes, 1);
        distance = (distance + (i ? 1 : 0)) << 7 | (byte & 0x7f);
        if (byte & 0x80)
            continue;
        *ret_distance = distance;
        return 1;
    }
    return -1;
}

/* The same result. */
static int read_entry(const struct pack *pack, struct bytes all, struct entry *ret_entry)
{
    struct bytes rest = bytes_after(all, pack->at);
    struct entry entry = {0};
    size_t more = 0, distance = 0;
    if (!rest.size)
        return 0;
    unsigned char first = (unsigned char)*rest.at;
    rest = bytes_after(rest, 1);
    entry.kind = first >> 4 & 7;
    if (first & 0x80 && !take_number(&rest, &more))
        return rest.size ? -1 : 0;
    entry.size = more << 4 | (first & 0xf);
    if (entry.kind == OFFSET_DELTA) {
        int result = take_distance(&rest, &distance);
        if (result <= 0)
            return result;
        if (distance == 0 || distance > pack->at)
            return -1;
        entry.base = pack->at - distance;
    }
    entry.stream = rest;
    *ret_entry = entry;
    return 1;
}

static const struct pack_commit *commit_at(const struct pack *pack, size_t offset)
{
    size_t low = 0, high = pack->commits.count; /* they are in the order of their offsets */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pack->commits.at[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < pack->commits.count && pack->commits.at[low].offset == offset ? &pack->commits.at[low]
                                                                               : NULL;
}

static void keep(struct pack *pack, struct bytes content)
{
    const struct bytes kept = bytes_of(arena_copy(&pack->arena, content.at, content.size), content.size);
    pack->total += content.size;
    vec_push(&pack->commits, ((struct pack_commit){pack->at, kept}));
    prove_with(pack, kept);
}

/* The same result. A tree or a file ends the commits, and so does a delta whose base is no commit that was read: -1, too. */
static int take_entry(struct pack *pack, struct bytes all)
{
    struct entry entry;
    int result = read_entry(pack, all, &entry);
    if (result <= 0)
        return result;
    const struct pack_commit *base = entry.kind == OFFSET_DELTA ? commit_at(pack, entry.base) : NULL;
    if ((entry.kind != COMMIT && entry.kind != TAG && !base) || entry.size > ANCESTRY_LARGEST_COMMIT ||
        pack->total > PACK_LARGEST_COMMITS || pack->commits.count == PACK_MOST_COMMITS ||
        reached(pack) > ANCESTRY_MOST_COMMITS)
        return -1;
    auto_buf struct buf content = {0}, made = {0};
    size_t used = 0;
    enum inflate_state state = inflate_stream(entry.stream, entry.size, &content, &used);
    if (state != INFLATE_WHOLE || content.size != entry.size)
        return state == INFLATE_SHORT ? 0 : -1;
    struct bytes whole = bytes_of(buf_text(&content), content.size);
    if (base && !apply_delta(base->content, whole, &made))
        return -1;
    if (base)
        keep(pack, bytes_of(buf_text(&made), made.size));
    else if (entry.kind == COMMIT)
        keep(pack, whole);
    pack->at = (size_t)(entry.stream.at - all.at) + used;
    pack->left--;
    return 1;
}

static uint32_t take_word(const char *at)
{
    const unsigned char *bytes = (const unsigned char *)at;
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

bool pack_read(struct pack *pack, struct bytes all)
{
    if (!pack->has_begun && all.size >= HEAD_SIZE) {
        pack->has_begun = true;
        pack->at = HEAD_SIZE;
        pack->left = take_word(all.at + 8);
        if (!bytes_start_with(all, "PACK") || take_word(all.at + 4) != 2)
            pack->is_done = true;
    }
    int result = 1;
    while (pack->has_begun && !pack->is_done && result > 0) {
        if (pack->left == 0 || is_all_proven(pack))
            result = -1;
        else
            result = take_entry(pack, all);
        if (result < 0)
            finish(pack);
    }
    return !pack->is_done;
}
