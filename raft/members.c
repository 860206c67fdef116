/* Encoding, offset by offset (raft 0.22, src/configuration.c):
 *
 *   0  1  format, 1
 *   1  8  number of members
 *   then for each: 8 id, the address and its NUL, 1 role (0 stand-by, 1 voter)
 *   then zeros up to a multiple of 8 */
#include "raft/members.h"

#include <assert.h>
#include <string.h>

#define MEMBERS_FORMAT 1

static bool
address_is_good(const char *address)
{
    size_t size = strnlen(address, sizeof((struct rlog_member *)0)->address);
    return size > 0 && size < sizeof((struct rlog_member *)0)->address;
}

enum status
rlog_members_check(const struct rlog_members *m)
{
    if (m->count == 0 || m->count > RLOG_MEMBERS_MAX)
        return ST_INVALID;
    for (uint32_t i = 0; i < m->count; i++) {
        const struct rlog_member *a = &m->members[i];
        if (a->id == 0 || !address_is_good(a->address))
            return ST_INVALID;
        if (i > 0 && m->members[i - 1].id >= a->id)
            return ST_INVALID;
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(m->members[j].address, a->address) == 0)
                return ST_INVALID;
    }
    return ST_OK;
}

void
rlog_members_sort(struct rlog_members *m)
{
    assert(m->count <= RLOG_MEMBERS_MAX);
    for (uint32_t i = 1; i < m->count; i++)
        for (uint32_t j = i; j > 0 && m->members[j - 1].id > m->members[j].id; j--) {
            struct rlog_member swap = m->members[j];
            m->members[j] = m->members[j - 1];
            m->members[j - 1] = swap;
        }
}

void
rlog_members_encode(const struct rlog_members *m, struct bytes *out)
{
    assert(rlog_members_check(m) == ST_OK);
    size_t start = out->size;
    bytes_put_u8(out, MEMBERS_FORMAT);
    bytes_put_u64(out, m->count);
    for (uint32_t i = 0; i < m->count; i++) {
        bytes_put_u64(out, m->members[i].id);
        bytes_put(out, m->members[i].address, strlen(m->members[i].address) + 1);
        bytes_put_u8(out, m->members[i].is_voter ? RAFT_VOTER : RAFT_STANDBY);
    }
    while ((out->size - start) % 8 != 0)
        bytes_put_u8(out, 0);
}

static void
read_member(struct reader *r, struct rlog_member *member)
{
    memset(member, 0, sizeof *member);
    member->id = read_u64(r);
    size_t size = 0;
    while (size < reader_left(r) && r->at[size] != 0)
        size++;
    if (size == 0 || size >= reader_left(r) || size >= sizeof member->address) {
        r->bad = true;
        return;
    }
    read_copy(r, member->address, size + 1);
    uint8_t role = read_u8(r);
    if (role != RAFT_VOTER && role != RAFT_STANDBY)
        r->bad = true;
    member->is_voter = role == RAFT_VOTER;
}

enum status
rlog_members_decode(struct slice s, struct rlog_members *ret_members)
{
    struct rlog_members m;
    memset(&m, 0, sizeof m);
    struct reader r = reader_of(s);
    if (read_u8(&r) != MEMBERS_FORMAT)
        return ST_INVALID;
    uint64_t count = read_u64(&r);
    if (r.bad || count == 0 || count > RLOG_MEMBERS_MAX)
        return ST_INVALID;
    m.count = (uint32_t)count;
    for (uint32_t i = 0; i < m.count && !r.bad; i++)
        read_member(&r, &m.members[i]);
    if (r.bad || s.size % 8 != 0 || reader_left(&r) > 7)
        return ST_INVALID;
    while (reader_left(&r) > 0)
        if (read_u8(&r) != 0)
            return ST_INVALID;
    if (rlog_members_check(&m) != ST_OK)
        return ST_INVALID;
    *ret_members = m;
    return ST_OK;
}

const struct rlog_member *
rlog_members_find(const struct rlog_members *m, uint64_t id)
{
    for (uint32_t i = 0; i < m->count; i++)
        if (m->members[i].id == id)
            return &m->members[i];
    return NULL;
}

uint32_t
rlog_members_voters(const struct rlog_members *m)
{
    uint32_t voters = 0;
    for (uint32_t i = 0; i < m->count; i++)
        voters += m->members[i].is_voter;
    return voters;
}

bool
rlog_members_is_sole_voter(const struct rlog_members *m, uint64_t id)
{
    const struct rlog_member *self = rlog_members_find(m, id);
    return self != NULL && self->is_voter && rlog_members_voters(m) == 1;
}

bool
rlog_members_can_spare(const struct rlog_members *m, uint64_t id)
{
    const struct rlog_member *member = rlog_members_find(m, id);
    uint32_t voters = rlog_members_voters(m);
    uint32_t others = voters - (member != NULL && member->is_voter);
    return others > voters / 2;
}

bool
rlog_members_equal(const struct rlog_members *a, const struct rlog_members *b)
{
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->members[i].id != b->members[i].id ||
            a->members[i].is_voter != b->members[i].is_voter ||
            strcmp(a->members[i].address, b->members[i].address) != 0)
            return false;
    return true;
}

void
rlog_members_to_raft(const struct rlog_members *m,
                     struct raft_configuration *ret_configuration)
{
    raft_configuration_init(ret_configuration);
    for (uint32_t i = 0; i < m->count; i++) {
        int rv = raft_configuration_add(
            ret_configuration, m->members[i].id, m->members[i].address,
            m->members[i].is_voter ? RAFT_VOTER : RAFT_STANDBY);
        assert(rv == 0); /* checked when it was decoded; the heap aborts */
        (void)rv;
    }
}
