/* Tests of base/json: against a second reader, on generated texts.
 *
 * The second reader is RFC 8259 written down as plainly as can be: one byte at a time,
 * with recursion, for tests only. Texts are made from the grammar and then, most of
 * them, damaged, so that many are JSON and many are nearly JSON. */
#include "base/json.h"
#include "base/text.h"

#include "suites.h"

#define TEXTS       150000
#define MEMBERS_MAX 100

/* The second reader. */
struct plain {
    const char *at;
    const char *end;
    size_t depth;
    size_t depth_most;
    size_t members; /* of the top level, with raw extents */
    struct slice keys[MEMBERS_MAX];
    struct slice values[MEMBERS_MAX];
};

static bool plain_value(struct plain *p);

static int
peek(const struct plain *p)
{
    return p->at < p->end ? (unsigned char)*p->at : -1;
}

static bool
eat(struct plain *p, char c)
{
    if (peek(p) != c)
        return false;
    p->at++;
    return true;
}

static void
plain_space(struct plain *p)
{
    while (eat(p, ' ') || eat(p, '\t') || eat(p, '\n') || eat(p, '\r'))
        ;
}

static bool
plain_digits(struct plain *p)
{
    bool any = false;
    for (; peek(p) >= '0' && peek(p) <= '9'; p->at++)
        any = true;
    return any;
}

static bool
plain_number(struct plain *p)
{
    eat(p, '-');
    if (!eat(p, '0') && !plain_digits(p))
        return false;
    if (eat(p, '.') && !plain_digits(p))
        return false;
    if (!eat(p, 'e') && !eat(p, 'E'))
        return true;
    if (!eat(p, '+'))
        eat(p, '-');
    return plain_digits(p);
}

static bool
plain_string(struct plain *p)
{
    if (!eat(p, '"'))
        return false;
    while (!eat(p, '"')) {
        if (peek(p) < 0x20)
            return false;
        if (!eat(p, '\\')) {
            p->at++;
            continue;
        }
        if (eat(p, 'u')) {
            for (int i = 0; i < 4; i++, p->at++)
                if (peek(p) <= 0 || strchr("0123456789abcdefABCDEF", peek(p)) == NULL)
                    return false;
        } else {
            if (peek(p) <= 0 || strchr("\"\\/bfnrt", peek(p)) == NULL)
                return false;
            p->at++;
        }
    }
    return true;
}

static bool
plain_word(struct plain *p, const char *word)
{
    for (; *word != '\0'; word++)
        if (!eat(p, *word))
            return false;
    return true;
}

static bool
plain_member(struct plain *p, bool is_object)
{
    const char *key = p->at;
    size_t key_size = 0;
    if (is_object) {
        if (!plain_string(p))
            return false;
        key_size = (size_t)(p->at - key);
        plain_space(p);
        if (!eat(p, ':'))
            return false;
        plain_space(p);
    }
    const char *value = p->at;
    if (!plain_value(p))
        return false;
    if (p->depth == 1 && p->members < MEMBERS_MAX && is_object) {
        p->keys[p->members] = slice_of(key + 1, key_size - 2);
        p->values[p->members++] = slice_of(value, (size_t)(p->at - value));
    }
    plain_space(p);
    return true;
}

static bool
plain_container(struct plain *p, char open, char close)
{
    bool ok = eat(p, open);
    p->depth++;
    if (p->depth > p->depth_most)
        p->depth_most = p->depth;
    plain_space(p);
    bool is_done = eat(p, close);
    while (ok && !is_done) {
        ok = plain_member(p, open == '{');
        is_done = eat(p, close);
        if (ok && !is_done) {
            ok = eat(p, ',');
            plain_space(p);
        }
    }
    p->depth--;
    return ok;
}

static bool
plain_value(struct plain *p)
{
    switch (peek(p)) {
    case '{':
        return plain_container(p, '{', '}');
    case '[':
        return plain_container(p, '[', ']');
    case '"':
        return plain_string(p);
    case 't':
        return plain_word(p, "true");
    case 'f':
        return plain_word(p, "false");
    case 'n':
        return plain_word(p, "null");
    default:
        return plain_number(p);
    }
}

static bool
plain_has_duplicate(const struct plain *p)
{
    bool found = false;
    for (size_t i = 0; i < p->members && !found; i++) {
        for (size_t j = 0; j < i && !found; j++) {
            struct bytes a = {0}, b = {0};
            json_unescape_loosely(p->keys[i], &a);
            json_unescape_loosely(p->keys[j], &b);
            found = slice_equal(bytes_slice(&a), bytes_slice(&b));
            bytes_fini(&a);
            bytes_fini(&b);
        }
    }
    return found;
}

static enum json_outcome
plain_parse(struct plain *p, struct slice text)
{
    memset(p, 0, sizeof(*p));
    p->at = (const char *)text.data;
    p->end = p->at + text.size;
    plain_space(p);
    bool is_object = peek(p) == '{';
    if (!plain_value(p))
        return JSON_NOT_JSON;
    plain_space(p);
    if (p->at != p->end)
        return JSON_NOT_JSON;
    if (!is_object)
        return JSON_IS_OTHER;
    if (p->depth_most > JSON_DEPTH_MAX || p->members > JSON_MEMBERS_MAX)
        return JSON_TOO_DEEP;
    return plain_has_duplicate(p) ? JSON_DUPLICATE : JSON_IS_OBJECT;
}

/* The generator: a stack of open brackets instead of recursion. */
static const char *const pieces[] = {
    "null",
    "true",
    "false",
    "0",
    "-1",
    "12.50",
    "1e5",
    "-0.0E-3",
    "\"\"",
    "\"text\"",
    "\"\\u0041\\n\"",
    "\"\\ud800\"",
    "\"\\ud83d\\ude00\"",
    "\"\xc3\xa9\"",
    "[]",
    "{}",
    "\"a long string without anything in it, over many lanes\"",
    "\"]},:\\\"\"",
};
static const char *const keys[] = {"a",    "b", "\\u0061", "key",
                                   "\\\"", "",  "c",       "\\ud800"};
static const char *const spaces[] = {"", "", "", " ", "\n", "\t\r\n "};

static const char *
pick(uint64_t *seed, const char *const *from, size_t count)
{
    return from[random_below(seed, count)];
}

static void
put_space(struct bytes *b, uint64_t *seed)
{
    bytes_put_text(b, pick(seed, spaces, COUNT_OF(spaces)));
}

static void
put_key(struct bytes *b, uint64_t *seed)
{
    bytes_printf(b, "\"%s", pick(seed, keys, COUNT_OF(keys)));
    if (random_below(seed, 2) == 0)
        bytes_put_decimal(b, random_below(seed, 50));
    bytes_put_text(b, "\"");
    put_space(b, seed);
    bytes_put_text(b, ":");
    put_space(b, seed);
}

static void
generate(struct bytes *b, uint64_t *seed)
{
    char open[64];
    size_t depth = 0;
    size_t left = random_below(seed, 40);
    put_space(b, seed);
    if (random_below(seed, 8) != 0) {
        open[depth++] = '{';
        bytes_put_text(b, "{");
    }
    bool is_first = true;
    do {
        size_t dice = random_below(seed, 10);
        if (!is_first)
            bytes_put_text(b, ",");
        put_space(b, seed);
        if (depth > 0 && open[depth - 1] == '{')
            put_key(b, seed);
        is_first = false;
        if (dice < 3 && depth < sizeof(open) - 1) {
            open[depth++] = dice == 0 ? '[' : '{';
            bytes_put(b, &open[depth - 1], 1);
            is_first = true;
        } else {
            bytes_put_text(b, pick(seed, pieces, COUNT_OF(pieces)));
        }
        put_space(b, seed);
        while (depth > 1 && !is_first && random_below(seed, 4) == 0)
            bytes_put_text(b, open[--depth] == '{' ? "}" : "]");
    } while (left-- > 0 && depth > 0);
    if (is_first && depth > 0 && open[depth - 1] == '{')
        bytes_put_text(b, "\"z\":0");
    while (depth > 0)
        bytes_put_text(b, open[--depth] == '{' ? "}" : "]");
    put_space(b, seed);
}

static void
damage(struct bytes *b, uint64_t *seed)
{
    static const char alphabet[] = "{}[]:,\"\\ue0123.+-E \n\t\v\f\0\x01/*tfn'a\x7f#";
    for (size_t i = random_below(seed, 4); i > 0 && b->size > 0; i--) {
        size_t at = random_below(seed, b->size);
        char c = alphabet[random_below(seed, sizeof(alphabet))];
        switch (random_below(seed, 3)) {
        case 0:
            b->data[at] = (uint8_t)c;
            break;
        case 1:
            memmove(b->data + at, b->data + at + 1, b->size - at - 1);
            b->size--;
            break;
        default:
            bytes_put_u8(b, 0);
            memmove(b->data + at + 1, b->data + at, b->size - at - 1);
            b->data[at] = (uint8_t)c;
            break;
        }
    }
}

static void
check_members(const struct json_object *o, const struct plain *p)
{
    ck_assert_uint_eq(o->count, p->members);
    for (size_t i = 0; i < o->count; i++) {
        struct bytes key = {0};
        struct slice value = p->values[i];
        json_unescape_loosely(p->keys[i], &key);
        ck_assert_slice_eq(o->members[i].key, bytes_slice(&key));
        if (o->members[i].type == JSON_STRING)
            value = slice_of(value.data + 1, value.size - 2);
        ck_assert_slice_eq(o->members[i].value, value);
        bytes_fini(&key);
    }
}

START_TEST(both_readers_agree_on_generated_texts)
{
    static struct json_object o;
    static struct plain p;
    struct bytes b = {0};
    uint64_t seed = 12;
    size_t seen[JSON_TOO_DEEP + 1] = {0};
    json_object_init(&o);
    for (int i = 0; i < TEXTS; i++) {
        bytes_clear(&b);
        generate(&b, &seed);
        damage(&b, &seed);
        struct slice text = bytes_slice(&b);
        if (!utf8_is_valid(text))
            continue; /* the caller's check */
        enum json_outcome expected = plain_parse(&p, text);
        enum json_outcome outcome = json_parse(&o, text);
        ck_assert_msg(outcome == expected, "text %d is %d, not %d: %.*s", i, outcome,
                      expected, (int)text.size, (const char *)text.data);
        if (outcome == JSON_IS_OBJECT)
            check_members(&o, &p);
        seen[outcome]++;
    }
    /* The generator is worth something only when it makes enough of each. */
    for (size_t i = 0; i < COUNT_OF(seen); i++)
        ck_assert_msg(seen[i] > TEXTS / 1000 || i == JSON_TOO_DEEP, "%zu of %zu",
                      seen[i], i);
    bytes_fini(&b);
    json_object_fini(&o);
}
END_TEST

Suite *
suite_json_differential(void)
{
    const TTest *const tests[] = {both_readers_agree_on_generated_texts};
    return suite_of("json differential", tests, COUNT_OF(tests));
}
