/* Sessions: from a subscriber's login to the end, over drops and resumes (manual,
 * "Resume after a drop").
 *
 *            open                 drop, by the manual's rule
 *   (none) ───────► connected ───────────────────────────────► saved
 *      ▲                │  ▲                resume               │ │
 *      └────────────────┘  └──────────────────────────────────────┘ │ time is up
 *      ▲  logout, drop                                              │
 *      └────────────────────────────────────────────────────────────┘ */
#ifndef HF_BROKER_SESSION_H
#define HF_BROKER_SESSION_H

#include "broker/parcel.h"

struct broker;
struct client;
struct part;
struct seat;

/* A seat for a session that is saved, at the beginning of a term. */
void seat_new_saved(struct part *part, struct session *x);
/* The most that a subscriber may ask for. */
uint64_t session_most_capacity(const struct queue *q);
/* A new session at the end of the line, seated at the connection. Nothing is dispatched
 * yet: the login's reply goes first. */
void session_begin(struct broker *b, struct client *c, uint32_t capacity);
/* The saved session that a login may resume, or NULL: code 109 in all its cases. */
struct seat *
session_find_saved(struct broker *b, struct part *part, const struct uuid *id);
/* capacity 0: as it was. Messages are not sent yet: the login's reply goes first. */
void session_continue(struct broker *b,
                      struct client *c,
                      struct seat *seat,
                      uint32_t capacity,
                      bool is_replay);
/* The connection's session ends: what it held goes to others. */
void session_logout(struct broker *b, struct client *c);
/* Ended by an operator, saved or not: it leaves its connection, and what it held goes
 * to others. The caller closes the connection and dispatches. */
void session_finish(struct broker *b, struct seat *seat);
/* The connection is gone: saved or ended by the manual's rule. */
void session_drop(struct broker *b, struct client *c);
/* Sessions whose time is up end, a turn's share. The caller dispatches. */
void sessions_expire(struct broker *b, struct part *part);
uint64_t session_deadline_ms(const struct session *x);
/* Sets the timer of the first one that is saved, by the present setting. */
void sessions_schedule(struct broker *b, struct part *part);

#endif
