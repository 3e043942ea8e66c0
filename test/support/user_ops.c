/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/support/user_ops.h"

#define PRIME UINT64_C(4294967291) /* the largest below 2^32 */

#define KERNEL(NAME, T, EXPRESSION)                                                                \
    static void NAME(void *out, const void *left, const void *right, size_t count,                 \
                     ncoll_type type, void *arg)                                                   \
    {                                                                                              \
        (void)type, (void)arg;                                                                     \
        for (size_t i = 0; i < count; i++) {                                                       \
            const T a = ((const T *)left)[i], b = ((const T *)right)[i];                           \
            ((T *)out)[i] = EXPRESSION;                                                            \
        }                                                                                          \
    }

static uint32_t greatest_divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* x -> (high x + low), first a and then b, modulo 2^32. */
static uint64_t compose(uint64_t a, uint64_t b)
{
    uint32_t factor = (uint32_t)(a >> 32) * (uint32_t)(b >> 32);
    uint32_t summand = (uint32_t)a * (uint32_t)(b >> 32) + (uint32_t)b;

    return (uint64_t)factor << 32 | summand;
}

KERNEL(product_mod, uint32_t, (uint32_t)((uint64_t)a *b % PRIME))
KERNEL(sum_mod, uint32_t, (uint32_t)(((uint64_t)a + b) % PRIME))
KERNEL(difference_mod, uint32_t, (uint32_t)((PRIME + a - b) % PRIME))
KERNEL(greatest_common_divisor, uint32_t, greatest_divisor(a, b))
KERNEL(affine, uint64_t, compose(a, b))
KERNEL(first, uint16_t, ((void)b, a))
KERNEL(sum, double, a + b)

static uint64_t below_prime(uint64_t bits)
{
    return bits % PRIME;
}

/* With common divisors often enough. */
static uint64_t composite(uint64_t bits)
{
    return 12 * (bits % 1000);
}

/* An even factor would lose the lefthand operands soon. */
static uint64_t invertible(uint64_t bits)
{
    return bits | UINT64_C(1) << 32;
}

/* ------------------------------------------------------------------ types of their own ------- */

/* 2 x 2 matrices modulo 256: not commutative. */
struct matrix_2x2 {
    uint8_t a, b, c, d;
};

static struct matrix_2x2 multiply(struct matrix_2x2 x, struct matrix_2x2 y)
{
    return (struct matrix_2x2){(uint8_t)(x.a * y.a + x.b * y.c), (uint8_t)(x.a * y.b + x.b * y.d),
                               (uint8_t)(x.c * y.a + x.d * y.c), (uint8_t)(x.c * y.b + x.d * y.d)};
}

KERNEL(matrix_product, struct matrix_2x2, multiply(a, b))

/* A colour: an odd number of bytes. The brightest of each channel. */
struct colour {
    uint8_t channel[3];
};

static struct colour brightest(struct colour x, struct colour y)
{
    for (unsigned i = 0; i < 3; i++)
        x.channel[i] = x.channel[i] > y.channel[i] ? x.channel[i] : y.channel[i];
    return x;
}

KERNEL(brightest_colour, struct colour, brightest(a, b))

/* ------------------------------------------------------------------ the table ---------------- */

#define DEFINE(combine, inverse, flags)                                                            \
    (&(const ncoll_op_def){sizeof(ncoll_op_def), flags, combine, inverse, NULL})

const struct operation user_ops[USER_OPS] = {
    {"product mod p", NCOLL_UINT32, 4, .value = below_prime,
     .def = DEFINE(product_mod, NULL, NCOLL_OP_COMMUTATIVE)},
    {"sum mod p, inverse", NCOLL_UINT32, 4, .value = below_prime,
     .def = DEFINE(sum_mod, difference_mod, NCOLL_OP_COMMUTATIVE)},
    {"gcd, idempotent", NCOLL_UINT32, 4, .value = composite,
     .def = DEFINE(greatest_common_divisor, NULL, NCOLL_OP_COMMUTATIVE | NCOLL_OP_IDEMPOTENT)},
    {"affine maps, not commutative", NCOLL_UINT64, 8, .value = invertible,
     .def = DEFINE(affine, NULL, 0)},
    {"first, idempotent, not commutative", NCOLL_UINT16, 2,
     .def = DEFINE(first, NULL, NCOLL_OP_IDEMPOTENT)},
    {"sum, rounding", NCOLL_DOUBLE, 8, .def = DEFINE(sum, NULL, NCOLL_OP_COMMUTATIVE),
     .rounds = true},
    {"product of matrices, not commutative", 0, sizeof(struct matrix_2x2),
     .def = DEFINE(matrix_product, NULL, 0)},
    {"brightest colour, idempotent", 0, sizeof(struct colour),
     .def = DEFINE(brightest_colour, NULL, NCOLL_OP_COMMUTATIVE | NCOLL_OP_IDEMPOTENT)},
};

int user_ops_register(ncoll_context *ctx, struct user_op numbers[USER_OPS])
{
    for (unsigned i = 0; i < USER_OPS; i++) {
        int rc = ncoll_op_create(ctx, user_ops[i].def, &numbers[i].op);
        numbers[i].type = user_ops[i].type;
        if (rc == NCOLL_OK && numbers[i].type == 0)
            rc = ncoll_type_create(ctx, user_ops[i].size, &numbers[i].type);
        if (rc != NCOLL_OK)
            return rc;
    }
    return NCOLL_OK;
}
