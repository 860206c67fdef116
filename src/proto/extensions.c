/* Extensions: reading what a client offers.
 *
 * Not the codec (deflate.c) and not the answer (http_accept).
 *
 *   offers = offer *( "," offer )
 *   offer  = token *( ";" token [ "=" ( token | quoted-string ) ] )
 *
 * An offer of permessage-deflate is declined when it has a parameter that is unknown,
 * given twice, or has a value out of its range (RFC 7692 section 7.1), and when it
 * wants a server window of 2^8: zlib cannot make raw deflate with that. The next offer
 * is then looked at. */
#include "proto/extensions.h"

#include <string.h>

#define WINDOW_BITS_LEAST 8 /* RFC 7692; 8 is more than zlib can do for us */
#define WINDOW_BITS_MOST  15
#define VALUE_MAX         8 /* longer than any value that counts */

struct cursor {
    const uint8_t *at;
    const uint8_t *end;
};

struct parameter {
    struct slice name;
    bool has_value;
    size_t value_size; /* may be above VALUE_MAX: then the rest is not kept */
    char value[VALUE_MAX];
};

/* The parameters of one offer, and whether it can still be taken. */
struct offer {
    bool is_deflate;
    bool is_good;
    bool has_server_bits;
    bool has_client_bits;
    bool has_server_no_context;
    bool has_client_no_context;
    uint8_t server_bits;
};

bool
http_is_token_char(uint8_t c)
{
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
        return true;
    return c != 0 && strchr("!#$%&'*+-.^_`|~", c) != NULL;
}

bool
http_is_same_word(struct slice word, const char *lower_case)
{
    if (word.size != strlen(lower_case))
        return false;
    for (size_t i = 0; i < word.size; i++) {
        uint8_t c = word.data[i];
        if (c >= 'A' && c <= 'Z')
            c = (uint8_t)(c + ('a' - 'A'));
        if (c != (uint8_t)lower_case[i])
            return false;
    }
    return true;
}

static void
skip_blanks(struct cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t'))
        c->at++;
}

/* Steps over what, with blanks around it. */
static bool
take(struct cursor *c, uint8_t what)
{
    skip_blanks(c);
    if (c->at == c->end || *c->at != what)
        return false;
    c->at++;
    skip_blanks(c);
    return true;
}

static bool
take_token(struct cursor *c, struct slice *ret_token)
{
    const uint8_t *start = c->at;
    while (c->at < c->end && http_is_token_char(*c->at))
        c->at++;
    *ret_token = slice_of(start, (size_t)(c->at - start));
    return ret_token->size > 0;
}

static void
keep_char(struct parameter *p, uint8_t c)
{
    if (p->value_size < VALUE_MAX)
        p->value[p->value_size] = (char)c;
    p->value_size++;
}

/* What stands in the quotes must be a token once unquoted (RFC 6455 section 9.1). */
static bool
take_quoted(struct cursor *c, struct parameter *p)
{
    c->at++;
    while (c->at < c->end && *c->at != '"') {
        if (*c->at == '\\' && ++c->at == c->end)
            return false;
        if (!http_is_token_char(*c->at))
            return false;
        keep_char(p, *c->at++);
    }
    if (c->at == c->end)
        return false;
    c->at++;
    return p->value_size > 0;
}

static bool
take_value(struct cursor *c, struct parameter *p)
{
    struct slice token;
    p->has_value = true;
    if (c->at < c->end && *c->at == '"')
        return take_quoted(c, p);
    if (!take_token(c, &token))
        return false;
    for (size_t i = 0; i < token.size; i++)
        keep_char(p, token.data[i]);
    return true;
}

/* 8..15 in decimal, no leading zero; 0 for anything else. */
static uint8_t
window_bits(const struct parameter *p)
{
    if (p->value_size == 1 && (p->value[0] == '8' || p->value[0] == '9'))
        return (uint8_t)(p->value[0] - '0');
    if (p->value_size == 2 && p->value[0] == '1' && p->value[1] >= '0' &&
        p->value[1] <= '5')
        return (uint8_t)(10 + p->value[1] - '0');
    return 0;
}

static bool
set_once(bool *flag)
{
    bool was_set = *flag;
    *flag = true;
    return !was_set;
}

/* False: the offer is declined. */
static bool
use_parameter(struct offer *o, const struct parameter *p)
{
    if (http_is_same_word(p->name, "server_no_context_takeover"))
        return set_once(&o->has_server_no_context) && !p->has_value;
    if (http_is_same_word(p->name, "client_no_context_takeover"))
        return set_once(&o->has_client_no_context) && !p->has_value;
    if (http_is_same_word(p->name, "client_max_window_bits"))
        return set_once(&o->has_client_bits) && (!p->has_value || window_bits(p) != 0);
    if (!http_is_same_word(p->name, "server_max_window_bits"))
        return false;
    o->server_bits = p->has_value ? window_bits(p) : 0;
    return set_once(&o->has_server_bits) && o->server_bits > WINDOW_BITS_LEAST;
}

/* False: not the grammar. */
static bool
read_offer(struct cursor *c, struct offer *o)
{
    struct slice name;
    skip_blanks(c);
    if (!take_token(c, &name))
        return false;
    *o = (struct offer){.is_deflate = http_is_same_word(name, "permessage-deflate"),
                        .is_good = true};
    while (take(c, ';')) {
        struct parameter p = {0};
        if (!take_token(c, &p.name))
            return false;
        if (take(c, '=') && !take_value(c, &p))
            return false;
        if (o->is_deflate && o->is_good)
            o->is_good = use_parameter(o, &p);
    }
    return true;
}

void
extensions_read(struct slice value, struct deflate_offer *offer)
{
    struct cursor c = {value.data, value.data + value.size};
    struct deflate_offer found = *offer;
    do {
        struct offer o;
        if (!read_offer(&c, &o))
            return;
        if (o.is_deflate && o.is_good && !found.is_taken) {
            found.is_taken = true;
            found.has_server_bits = o.has_server_bits;
            found.server_bits = o.has_server_bits ? o.server_bits : WINDOW_BITS_MOST;
        }
    } while (take(&c, ','));
    if (c.at == c.end)
        *offer = found;
}
