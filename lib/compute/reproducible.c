/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/compute/reproducible.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define W        40 /* bits of a bin */
#define BIN_MASK ((INT64_C(1) << W) - 1)
#define LEAST    (-1074) /* exponent of the least double, where bin 0 begins */
#define FRACTION 52      /* bits of a double's fraction */

enum seen {
    SEEN_NAN = 1,
    SEEN_PLUS_INFINITY = 2,
    SEEN_MINUS_INFINITY = 4,
    SEEN_OTHER_THAN_MINUS_ZERO = 8,
};

typedef unsigned __int128 wide;

/* ------------------------------------------------------------------ opening ------------------ */

static struct reproducible special(uint64_t bits)
{
    bool nan = bits << (64 - FRACTION) != 0, minus = bits >> 63;

    return (struct reproducible){.top = 1,
                                 .seen =
                                     SEEN_OTHER_THAN_MINUS_ZERO | (nan     ? SEEN_NAN
                                                                   : minus ? SEEN_MINUS_INFINITY
                                                                           : SEEN_PLUS_INFINITY)};
}

/* Makes an accumulator from a number, which is m 2^(LEAST + p). So its highest bit is bit p + 52 at
 * most; the bin of that bit is the top. */
static struct reproducible cut(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    uint32_t exponent = bits >> FRACTION & 0x7ff;
    if (exponent == 0x7ff)
        return special(bits);
    uint64_t m = (bits & ((UINT64_C(1) << FRACTION) - 1)) | (uint64_t)(exponent != 0) << FRACTION;
    uint32_t p = exponent - (exponent != 0), top = (p + FRACTION) / W;
    wide pieces = (wide)m << (p + 2 * W - W * top); /* a shift by 28 to 67 bits */
    int64_t sign = -(int64_t)(bits >> 63);          /* for sign -1: (x ^ -1) - -1 is -x */

    return (struct reproducible){
        .bin = {(((int64_t)pieces & BIN_MASK) ^ sign) - sign,
                (((int64_t)(pieces >> W) & BIN_MASK) ^ sign) - sign,
                ((int64_t)(pieces >> 2 * W) ^ sign) - sign},
        .top = (int32_t)top,
        .seen = bits != UINT64_C(1) << 63 ? SEEN_OTHER_THAN_MINUS_ZERO : 0,
    };
}

void ncoll__reproducible_open(struct reproducible *out, const void *in, size_t count,
                              ncoll_type type)
{
    const unsigned char *from = in;

    for (size_t i = 0; i < count; i++) {
        if (type == NCOLL_FLOAT) {
            float x;
            memcpy(&x, from + i * sizeof x, sizeof x);
            out[i] = cut((double)x);
        } else {
            double x;
            memcpy(&x, from + i * sizeof x, sizeof x);
            out[i] = cut(x);
        }
    }
}

/* ------------------------------------------------------------------ combining ---------------- */

static inline __attribute__((always_inline)) struct reproducible add(struct reproducible a,
                                                                     struct reproducible b)
{
    if (a.top < b.top) {
        struct reproducible higher = b;
        b = a;
        a = higher;
    }
    switch (a.top - b.top) { /* number of bins that b loses */
    case 0:
        a.bin[0] += b.bin[0];
        a.bin[1] += b.bin[1];
        a.bin[2] += b.bin[2];
        break;
    case 1:
        a.bin[0] += b.bin[1];
        a.bin[1] += b.bin[2];
        break;
    case 2:
        a.bin[0] += b.bin[2];
        break;
    default:
        break;
    }
    a.seen |= b.seen;
    return a;
}

void ncoll__reproducible_combine(void *out, const void *left, const void *right, size_t count,
                                 ncoll_type type, void *arg)
{
    struct reproducible *o = out;
    const struct reproducible *l = left, *r = right;

    (void)type, (void)arg;
    for (size_t i = 0; i < count; i++)
        o[i] = add(l[i], r[i]);
}

/* ------------------------------------------------------------------ closing ------------------ */

struct format {
    int precision; /* bits of the significand, with the leading one */
    int least;     /* exponent of the smallest number */
};

static unsigned width(wide x)
{
    uint64_t high = (uint64_t)(x >> 64), low = (uint64_t)x;

    if (high != 0)
        return 128 - (unsigned)__builtin_clzll(high);
    return low != 0 ? 64 - (unsigned)__builtin_clzll(low) : 0;
}

/* Returns m 2^exponent, which is a double or overflows. The bits are set directly, so no rounding
 * mode matters. */
static double assemble(uint64_t m, int exponent)
{
    if (m == 0)
        return 0;
    int leading = exponent + (int)width(m) - 1;
    uint64_t bits;
    double x;

    if (leading > 1023)
        return (double)INFINITY;
    if (leading < LEAST + FRACTION) { /* subnormal */
        bits = m << (exponent - LEAST);
    } else { /* the leading bit adds 1 to the exponent; m may be 2^53, but not more */
        uint64_t fraction =
            leading - exponent > FRACTION ? m >> 1 : m << (FRACTION - (leading - exponent));
        bits = ((uint64_t)(leading - LEAST - FRACTION) << FRACTION) + fraction;
    }
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Rounds units * 2^exponent to the nearest, ties to even. `more`: the exact value is a little
 * larger. */
static double round_units(wide units, bool more, int exponent, const struct format *f)
{
    int drop = (int)width(units) - f->precision;

    if (drop < f->least - exponent)
        drop = f->least - exponent;
    if (drop <= 0) /* no bits of `units` are dropped */
        return assemble((uint64_t)units, exponent);
    if (drop > 127) /* far below half of the smallest number */
        return 0;
    wide kept = units >> drop, half = (wide)1 << (drop - 1), rest = units & (2 * half - 1);
    if (rest > half || (rest == half && (more || kept & 1)))
        kept++;
    return assemble((uint64_t)kept, exponent + drop);
}

static double round_bins(const struct reproducible *r, const struct format *f)
{
    /* carry, so that bins 0 and 1 have 40 bits and no sign */
    int64_t middle = r->bin[1] + (r->bin[0] >> W), high = r->bin[2] + (middle >> W);
    wide low = (wide)(middle & BIN_MASK) << W | (wide)(r->bin[0] & BIN_MASK);
    bool minus = high < 0;
    int exponent = LEAST + W * (r->top - 2);
    double magnitude;

    if (minus) {
        low = (((wide)1 << 2 * W) - low) & (((wide)1 << 2 * W) - 1);
        high = -high - (low != 0);
    }
    if (high == 0)
        magnitude = round_units(low, false, exponent, f);
    else /* up to 63 + 80 bits: of the lowest 16 it matters only whether they are all 0 */
        magnitude =
            round_units((wide)high << 64 | low >> 16, (low & 0xffff) != 0, exponent + 16, f);
    return minus ? -magnitude : magnitude;
}

static double close_one(const struct reproducible *r, const struct format *f)
{
    const uint32_t both = SEEN_PLUS_INFINITY | SEEN_MINUS_INFINITY;

    if (r->seen & SEEN_NAN || (r->seen & both) == both)
        return (double)NAN;
    if (r->seen & both)
        return r->seen & SEEN_PLUS_INFINITY ? (double)INFINITY : -(double)INFINITY;
    if (!(r->seen & SEEN_OTHER_THAN_MINUS_ZERO))
        return -0.0;
    return round_bins(r, f);
}

void ncoll__reproducible_close(void *out, const struct reproducible *in, size_t count,
                               ncoll_type type)
{
    static const struct format of_float = {24, -149}, of_double = {FRACTION + 1, LEAST};
    unsigned char *to = out;

    for (size_t i = 0; i < count; i++) {
        if (type == NCOLL_FLOAT) {
            float x = (float)close_one(&in[i], &of_float); /* exact, or infinite */
            memcpy(to + i * sizeof x, &x, sizeof x);
        } else {
            double x = close_one(&in[i], &of_double);
            memcpy(to + i * sizeof x, &x, sizeof x);
        }
    }
}
