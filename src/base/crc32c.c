/* CRC-32C: by instruction where the processor has it, by table elsewhere.
 *
 * Not a defence against an attacker: that is TLS. The polynomial is 0x1edc6f41, bits
 * reflected (0x82f63b78), with the value inverted before and after.
 *
 * The crc32 instruction takes three cycles but can begin one each cycle, so three
 * stretches of the data run side by side and are joined by carry-less multiplication:
 * moving a value over n zero bytes is multiplying it by x^(8n), and the constants are
 * x^(8n - 33), because the reflected product and the instruction add the missing 33
 * (Gopal and others, "Fast CRC Computation for iSCSI Polynomial", Intel 2011). */
#include "base/crc32c.h"

#include "base/bytes.h"

/* Tables without a table in the source: every entry is the exclusive or of the entries
 * of its bits. */
#define BIT(n, i, b) ((((n) >> (i)) & 1u) * (b))
#define ENTRY(n, b0, b1, b2, b3, b4, b5, b6, b7)                                       \
    (BIT(n, 0, b0) ^ BIT(n, 1, b1) ^ BIT(n, 2, b2) ^ BIT(n, 3, b3) ^ BIT(n, 4, b4) ^   \
     BIT(n, 5, b5) ^ BIT(n, 6, b6) ^ BIT(n, 7, b7))
#define ROW4(n, ...)                                                                   \
    ENTRY((n), __VA_ARGS__), ENTRY((n) + 1u, __VA_ARGS__),                             \
        ENTRY((n) + 2u, __VA_ARGS__), ENTRY((n) + 3u, __VA_ARGS__)
#define ROW16(n, ...)                                                                  \
    ROW4((n), __VA_ARGS__), ROW4((n) + 4u, __VA_ARGS__), ROW4((n) + 8u, __VA_ARGS__),  \
        ROW4((n) + 12u, __VA_ARGS__)
#define ROW64(n, ...)                                                                  \
    ROW16((n), __VA_ARGS__), ROW16((n) + 16u, __VA_ARGS__),                            \
        ROW16((n) + 32u, __VA_ARGS__), ROW16((n) + 48u, __VA_ARGS__)
#define TABLE(...)                                                                     \
    {                                                                                  \
        ROW64(0u, __VA_ARGS__), ROW64(64u, __VA_ARGS__), ROW64(128u, __VA_ARGS__),     \
            ROW64(192u, __VA_ARGS__)                                                   \
    }

/* clang-format off */
/* tables[k][n]: the value of byte n with k zero bytes behind it. */
static const uint32_t tables[8][256] = {
    TABLE(0xf26b8303u, 0xe13b70f7u, 0xc79a971fu, 0x8ad958cfu, 0x105ec76fu, 0x20bd8edeu,
          0x417b1dbcu, 0x82f63b78u),
    TABLE(0x13a29877u, 0x274530eeu, 0x4e8a61dcu, 0x9d14c3b8u, 0x3fc5f181u, 0x7f8be302u,
          0xff17c604u, 0xfbc3faf9u),
    TABLE(0xa541927eu, 0x4f6f520du, 0x9edea41au, 0x38513ec5u, 0x70a27d8au, 0xe144fb14u,
          0xc76580d9u, 0x8b277743u),
    TABLE(0xdd45aab8u, 0xbf672381u, 0x7b2231f3u, 0xf64463e6u, 0xe964b13du, 0xd725148bu,
          0xaba65fe7u, 0x52a0c93fu),
    TABLE(0x38116facu, 0x7022df58u, 0xe045beb0u, 0xc5670b91u, 0x8f2261d3u, 0x1ba8b557u,
          0x37516aaeu, 0x6ea2d55cu),
    TABLE(0xef306b19u, 0xdb8ca0c3u, 0xb2f53777u, 0x6006181fu, 0xc00c303eu, 0x85f4168du,
          0x0e045bebu, 0x1c08b7d6u),
    TABLE(0x68032cc8u, 0xd0065990u, 0xa5e0c5d1u, 0x4e2dfd53u, 0x9c5bfaa6u, 0x3d5b83bdu,
          0x7ab7077au, 0xf56e0ef4u),
    TABLE(0x493c7d27u, 0x9278fa4eu, 0x211d826du, 0x423b04dau, 0x847609b4u, 0x0d006599u,
          0x1a00cb32u, 0x34019664u),
};
/* clang-format on */

/* crc is inverted already, here and in all below. */
static uint32_t
extend_by_tables(uint32_t crc, const uint8_t *p, size_t size)
{
    for (; size >= 8; p += 8, size -= 8) {
        uint64_t v = get_u64(p) ^ crc;
        crc = tables[7][v & 255] ^ tables[6][v >> 8 & 255] ^ tables[5][v >> 16 & 255] ^
              tables[4][v >> 24 & 255] ^ tables[3][v >> 32 & 255] ^
              tables[2][v >> 40 & 255] ^ tables[1][v >> 48 & 255] ^ tables[0][v >> 56];
    }
    for (; size > 0; p++, size--)
        crc = crc >> 8 ^ tables[0][(crc ^ *p) & 255];
    return crc;
}

uint32_t
crc32c_portable(uint32_t crc, const void *data, size_t size)
{
    return ~extend_by_tables(~crc, data, size);
}

#if defined(__x86_64__)

#include <immintrin.h>

#define HAVE_INSTRUCTION 1
#define BY_INSTRUCTION   __attribute__((target("sse4.2,pclmul")))

/* Stretches of one size, and what moves a value over one and over two of them. */
struct stretch {
    size_t size;
    uint32_t over_one;
    uint32_t over_two;
};

static const struct stretch long_stretch = {1024, 0x170076fau, 0xa51b6135u};
static const struct stretch short_stretch = {128, 0x0d3b6092u, 0xb9e02b86u};

BY_INSTRUCTION static uint64_t
multiply(uint64_t crc, uint32_t constant)
{
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)crc),
                                           _mm_cvtsi32_si128((int)constant), 0);
    return (uint64_t)_mm_cvtsi128_si64(product);
}

/* Three stretches at p. */
BY_INSTRUCTION static uint32_t
extend_three(uint32_t crc, const uint8_t *p, const struct stretch *s)
{
    uint64_t a = crc;
    uint64_t b = 0;
    uint64_t c = 0;
    for (const uint8_t *end = p + s->size; p < end; p += 8) {
        a = _mm_crc32_u64(a, get_u64(p));
        b = _mm_crc32_u64(b, get_u64(p + s->size));
        c = _mm_crc32_u64(c, get_u64(p + 2 * s->size));
    }
    uint64_t joined = multiply(a, s->over_two) ^ multiply(b, s->over_one);
    return (uint32_t)(c ^ _mm_crc32_u64(0, joined));
}

BY_INSTRUCTION static uint32_t
extend_by_instruction(uint32_t crc, const uint8_t *p, size_t size)
{
    for (; size >= 3 * long_stretch.size; size -= 3 * long_stretch.size) {
        crc = extend_three(crc, p, &long_stretch);
        p += 3 * long_stretch.size;
    }
    for (; size >= 3 * short_stretch.size; size -= 3 * short_stretch.size) {
        crc = extend_three(crc, p, &short_stretch);
        p += 3 * short_stretch.size;
    }
    uint64_t wide = crc;
    for (; size >= 8; p += 8, size -= 8)
        wide = _mm_crc32_u64(wide, get_u64(p));
    crc = (uint32_t)wide;
    for (; size > 0; p++, size--)
        crc = _mm_crc32_u8(crc, *p);
    return crc;
}

#else
#define HAVE_INSTRUCTION 0
#endif

uint32_t
crc32c(uint32_t crc, const void *data, size_t size)
{
#if HAVE_INSTRUCTION
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul"))
        return ~extend_by_instruction(~crc, data, size);
#endif
    return crc32c_portable(crc, data, size);
}

/* A value as a polynomial, reflected: bit 31 is x^0. */
#define POLYNOMIAL 0x82f63b78u
#define ONE        0x80000000u

static uint32_t
times_x(uint32_t a)
{
    return a >> 1 ^ (POLYNOMIAL & (0u - (a & 1u)));
}

/* a times b modulo the polynomial. */
static uint32_t
product(uint32_t a, uint32_t b)
{
    uint32_t sum = 0;
    for (uint32_t bit = ONE; bit != 0; bit >>= 1) {
        if ((b & bit) != 0)
            sum ^= a;
        a = times_x(a);
    }
    return sum;
}

uint32_t
crc32c_join(uint32_t first, uint32_t second, size_t second_size)
{
    /* Moving a value over a byte is multiplying it by x^8. The inversions before and
     * after cancel out: those of first's end and of second's begin are the same. */
    uint32_t over = ONE;
    uint32_t power = ONE >> 8;
    for (size_t n = second_size; n > 0; n >>= 1) {
        if ((n & 1) != 0)
            over = product(over, power);
        power = product(power, power);
    }
    return product(first, over) ^ second;
}
