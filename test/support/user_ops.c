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

#define DEFINE(combine, inverse, flags)                                                            \
    (&(const ncoll_op_def){sizeof(ncoll_op_def), flags, combine, inverse, NULL})

const struct operation user_ops[USER_OPS] = {
    {"product mod p", NCOLL_UINT32, .value = below_prime,
     .def = DEFINE(product_mod, NULL, NCOLL_OP_COMMUTATIVE)},
    {"sum mod p, inverse", NCOLL_UINT32, .value = below_prime,
     .def = DEFINE(sum_mod, difference_mod, NCOLL_OP_COMMUTATIVE)},
    {"gcd, idempotent", NCOLL_UINT32, .value = composite,
     .def = DEFINE(greatest_common_divisor, NULL, NCOLL_OP_COMMUTATIVE | NCOLL_OP_IDEMPOTENT)},
    {"affine maps, not commutative", NCOLL_UINT64, .value = invertible,
     .def = DEFINE(affine, NULL, 0)},
    {"first, idempotent, not commutative", NCOLL_UINT16,
     .def = DEFINE(first, NULL, NCOLL_OP_IDEMPOTENT)},
    {"sum, rounding", NCOLL_DOUBLE, .def = DEFINE(sum, NULL, NCOLL_OP_COMMUTATIVE), .rounds = true},
};

int user_ops_register(ncoll_context *ctx, ncoll_op numbers[USER_OPS])
{
    for (unsigned i = 0; i < USER_OPS; i++) {
        int rc = ncoll_op_create(ctx, user_ops[i].def, &numbers[i]);
        if (rc != NCOLL_OK)
            return rc;
    }
    return NCOLL_OK;
}
