/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/compute/op.h"

#include <stdatomic.h>

#include "lib/base/signature.h"
#include "lib/compute/kernels.h"
#include "lib/compute/reproducible.h"

#ifdef HAVE_KERNELS_AVX2
#include <cpuid.h>
#include <stdatomic.h>
#endif

#ifdef HAVE_KERNELS_AVX2
static bool have_f16c(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C; /* clang 14 does not know "f16c" */
}

/* The result is kept, since calls look up their operation, and cpuid takes microseconds in a
 * virtual machine. */
bool ncoll__have_avx2(void)
{
    static atomic_int known; /* 0: not yet known, 1: no, 2: yes; all threads find the same */
    int have = atomic_load_explicit(&known, memory_order_relaxed);

    if (have == 0) {
        have = __builtin_cpu_supports("avx2") && have_f16c() ? 2 : 1;
        atomic_store_explicit(&known, have, memory_order_relaxed);
    }
    return have == 2;
}
#endif

/* The choice is made once, since cpuid takes microseconds in a virtual machine. */
const struct kernels *ncoll__kernels(void)
{
    static const struct kernels *_Atomic known;
    const struct kernels *kernels = atomic_load_explicit(&known, memory_order_relaxed);

    if (kernels != NULL)
        return kernels;
    kernels = &ncoll__kernels_plain;
#ifdef HAVE_KERNELS_AVX2
    if (ncoll__have_avx2())
        kernels = &ncoll__kernels_avx2;
#endif
    atomic_store_explicit(&known, kernels, memory_order_relaxed);
    return kernels;
}

/* Returns true for operations that pick one of the operands. Their order has ties only between
 * equal operands, so the result does not depend on the order of evaluation. */
static bool picks(ncoll_op op)
{
    return op == NCOLL_MIN || op == NCOLL_MAX || op == NCOLL_MINLOC || op == NCOLL_MAXLOC;
}

bool ncoll__op_builtin(ncoll_op op, ncoll_type type, struct op *out)
{
    if (!ncoll__op_known(op) || type >= TYPES_END)
        return false;
    if (op == NCOLL_SUM_REPRODUCIBLE) {
        *out =
            (struct op){.combine = ncoll__reproducible_combine, .commutative = true, .exact = true};
        return type == NCOLL_FLOAT || type == NCOLL_DOUBLE;
    }
    const struct kernels *kernels = ncoll__kernels();
    if (kernels->combine[type][op] == NULL)
        kernels = &ncoll__kernels_scalar;
    if (kernels->combine[type][op] == NULL)
        return false;
    *out = (struct op){
        .combine = kernels->combine[type][op],
        .inverse = kernels->inverse[type][op],
        .commutative = true,
        .idempotent =
            picks(op) || op == NCOLL_LAND || op == NCOLL_LOR || op == NCOLL_BAND || op == NCOLL_BOR,
        .exact = picks(op) || !ncoll__type_is_float(type),
    };
    return true;
}
