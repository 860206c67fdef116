#include "tests/unit/raft/scenario.h"

#include "base/crc32c.h"
#include "base/mem.h"
#include "raft/members.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static bool
fails_without(scenario_cb *scenario, enum rlog_guard guard)
{
    int state;
    fflush(stdout);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        if (freopen("/dev/null", "w", stderr) == NULL)
            _exit(3);
        rlog_test_switch_off(UINT64_C(1) << guard);
        _exit(scenario() ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(pid, &state, 0), pid);
    return !WIFEXITED(state) || WEXITSTATUS(state) != 0;
}

void
scenario_check(scenario_cb *scenario, enum rlog_guard guard)
{
    ck_assert(scenario());
    ck_assert_msg(fails_without(scenario, guard), "it does not show without the rule");
}

static bool
keep(struct rig *rig, struct rig_frame *f)
{
    struct lone *l = rig->watch_ctx;
    if (f->kind == RLOG_FRAME_APPEND && f->to != 2) {
        l->sent_count[f->kind]++;
        return false;
    }
    blob_put(l->sent[f->kind]);
    l->sent[f->kind] = blob_get(f->body);
    l->sent_count[f->kind]++;
    return false;
}

void
lone_start(struct lone *l)
{
    memset(l, 0, sizeof *l);
    l->entry_bytes = 8;
    l->rig = rig_new(3);
    l->rig->watch = keep;
    l->rig->watch_ctx = l;
    l->n = &l->rig->nodes[1];
    ck_assert_int_eq(rig_start(l->rig, 1, false), ST_OK);
    l->n->is_disk_stopped = true;
    rlog_peer_up(l->n->r, 2, l->rig->now_ms);
    rlog_peer_up(l->n->r, 3, l->rig->now_ms);
    rlog_tick(l->n->r, l->rig->now_ms);
}

void
lone_end(struct lone *l)
{
    for (int i = 0; i < 32; i++)
        blob_put(l->sent[i]);
    rig_free(l->rig);
}

void
lone_append(struct lone *l,
            uint64_t peer,
            uint64_t term,
            uint64_t prev,
            uint64_t prev_term,
            uint32_t count,
            uint64_t commit,
            uint64_t change_at)
{
    static struct rlog_entry entries[RLOG_WIRE_ENTRIES_MAX];
    struct bytes payload = {0};
    struct bytes body = {0};
    struct rlog_members members;
    rig_members(4, &members);
    rlog_members_encode(&members, &payload);
    uint8_t *command = mem_calloc(1, l->entry_bytes);
    for (uint32_t i = 0; i < count; i++) {
        bool is_change = prev + 1 + i == change_at;
        entries[i] = (struct rlog_entry){.term = term,
                                         .type = is_change ? RLOG_CHANGE : RLOG_COMMAND,
                                         .is_sync = is_change};
        entries[i].size = is_change ? (uint32_t)payload.size : l->entry_bytes;
        entries[i].crc = crc32c(0, is_change ? payload.data : command, entries[i].size);
    }
    struct raft_append_entries m = {.term = term,
                                    .prev_log_index = prev,
                                    .prev_log_term = prev_term,
                                    .leader_commit = commit};
    rlog_wire_put_append(&body, &m, 1, entries, count);
    for (uint32_t i = 0; i < count; i++)
        bytes_put(&body, entries[i].type == RLOG_CHANGE ? payload.data : command,
                  entries[i].size);
    ck_assert_int_eq(rig_inject(l->n, peer, RLOG_FRAME_APPEND, &body), ST_OK);
    bytes_fini(&body);
    bytes_fini(&payload);
    mem_free(command);
}

void
lone_follow(struct lone *l, uint64_t term, uint64_t last)
{
    if (last > 1)
        lone_append(l, 2, term, 1, 1, (uint32_t)(last - 1), 0, 0);
    else
        lone_append(l, 2, term, 1, 1, 0, 0, 0);
    memdisk_write(&l->n->disk, l->n->r, l->rig->now_ms);
}

void
lone_result(
    struct lone *l, uint64_t peer, uint64_t term, uint64_t rejected, uint64_t last)
{
    struct bytes body = {0};
    struct raft_append_entries_result m = {
        .version = 2, .term = term, .rejected = rejected, .last_log_index = last};
    rlog_wire_put_append_result(&body, &m, 0, 0);
    ck_assert_int_eq(rig_inject(l->n, peer, RLOG_FRAME_APPEND_RESULT, &body), ST_OK);
    bytes_fini(&body);
}

static void
grant(struct lone *l, bool is_pre_vote, uint64_t term)
{
    struct bytes body = {0};
    struct raft_request_vote_result m = {
        .version = 2, .term = term, .vote_granted = true, .pre_vote = is_pre_vote};
    rlog_wire_put_vote_result(&body, &m);
    ck_assert_int_eq(rig_inject(l->n, 2, RLOG_FRAME_VOTE_RESULT, &body), ST_OK);
    bytes_fini(&body);
}

uint64_t
lone_lead(struct lone *l)
{
    for (int i = 0; i < 3000 && rig_status(l->n).role != RLOG_CANDIDATE; i++)
        rig_run(l->rig, 1);
    uint64_t term = rig_status(l->n).term + 1;
    grant(l, true, term);
    grant(l, false, term);
    ck_assert_int_eq(rig_status(l->n).role, RLOG_LEADER);
    ck_assert_uint_eq(rig_status(l->n).term, term);
    return term;
}
