/* Notes: what the verbs write into the journal. For src/queue alone.
 *
 * A note says how one thing was before, so that undoing is putting back. Notes are
 * undone strictly newest first, so each finds the state exactly as it left it. */
#ifndef HF_QUEUE_JOURNAL_NOTES_H
#define HF_QUEUE_JOURNAL_NOTES_H

#include "queue/journal.h"
#include "queue/place.h"
#include "queue/trail.h"

enum note_kind {
    NOTE_MARK,         /* an entry ends here */
    NOTE_MESSAGE,      /* was elsewhere, or nowhere */
    NOTE_SESSION,      /* had other fields */
    NOTE_SESSION_NEW,  /* was not there */
    NOTE_SESSION_GONE, /* was there */
    NOTE_QUEUE_NEW,
    NOTE_QUEUE_GONE,
    NOTE_LOGIN,
    NOTE_SETTING,
    NOTE_ROW,  /* a history had one row less */
    NOTE_TRIM, /* a history had more days */
    NOTE_EPOCH,
    NOTE_LEVEL,
    NOTE_TRAIL, /* a message had one event less */
};

struct note {
    enum note_kind kind;
    union {
        struct {
            uint64_t index;
            uint64_t stamp_ms;
        } mark;
        struct {
            struct message *message;
            struct message_spot old;
            bool is_gone; /* it went to PLACE_NONE: freed at commit */
        } message;
        struct {
            struct session *session;
            struct session_fields old;
        } session; /* NOTE_SESSION; _NEW and _GONE use the pointer */
        struct {
            struct session *session;
            uint64_t old_next;
        } session_new;
        struct {
            struct queue *queue;
            uint32_t old_next;
        } queue; /* _NEW, _GONE */
        struct {
            struct queue *queue;
            struct login_secret *old; /* owned */
            enum login_role role;
        } login;
        struct {
            struct queue *queue;
            enum setting_id id;
            uint64_t old;
        } setting;
        struct {
            struct history *history;
            struct history *cut; /* NOTE_TRIM: owned */
        } history;
        struct {
            uint64_t old_leader;
            uint64_t old_floor_ms;
        } epoch;
        struct {
            uint32_t old;
        } level;
        struct {
            struct message *message;
            struct trail_event lost;
            bool has_lost;
        } trail;
    };
};

/* A zeroed note at the end, to be filled; NULL when the state has no journal. Valid
 * until the next one. */
struct note *journal_note(struct state *s, enum note_kind kind);
/* The oldest, the newest (NULL when empty), and taking them off. */
struct note *journal_oldest(struct journal *j);
struct note *journal_newest(struct journal *j);
void journal_drop_oldest(struct journal *j);
void journal_drop_newest(struct journal *j);
/* How many notes there are up to and including the last mark at or below index. */
size_t journal_committed(const struct journal *j, uint64_t index);
/* Where the state was before the oldest note. */
void journal_base(const struct journal *j, uint64_t *ret_index, uint64_t *ret_stamp_ms);
void journal_set_base(struct journal *j, uint64_t index, uint64_t stamp_ms);

#endif
