/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/compute/op.h"

#include <stdatomic.h>

#include "lib/failure/card.h"
#include "lib/compute/kernels.h"
#include "lib/compute/reproducible.h"

#ifdef HAVE_KERNELS_AVX2
#include <cpuid.h>
#include <stdatomic.h>
#endif

static const char *const op_name[OPS_END] = {
    [NCOLL_SUM] = "sum",
    [NCOLL_PROD] = "prod",
    [NCOLL_MIN] = "min",
    [NCOLL_MAX] = "max",
    [NCOLL_LAND] = "land",
    [NCOLL_LOR] = "lor",
    [NCOLL_LXOR] = "lxor",
    [NCOLL_BAND] = "band",
    [NCOLL_BOR] = "bor",
    [NCOLL_BXOR] = "bxor",
    [NCOLL_MINLOC] = "minloc",
    [NCOLL_MAXLOC] = "maxloc",
    [NCOLL_SUM_REPRODUCIBLE] = "reproducible sum",
};

#ifdef HAVE_KERNELS_AVX2
static bool have_f16c(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C; /* clang 14 does not know "f16c" */
}

/* Asked once: calls look up their operation, and in a virtual machine cpuid takes microseconds. */
bool ncoll__have_avx2(void)
{
    static atomic_int known; /* 0: not yet, 1: no, 2: yes; whoever asks first, it is the same */
    int have = atomic_load_explicit(&known, memory_order_relaxed);

    if (have == 0) {
        have = __builtin_cpu_supports("avx2") && have_f16c() ? 2 : 1;
        atomic_store_explicit(&known, have, memory_order_relaxed);
    }
    return have == 2;
}
#endif

/* What the processor can is asked once: the question takes microseconds under a hypervisor. */
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

bool ncoll__op_known(ncoll_op op)
{
    return op < OPS_END && op_name[op] != NULL;
}

const char *ncoll__op_name(unsigned op)
{
    if (op >= OP_USER)
        return "user-defined";
    return ncoll__op_known(op) ? op_name[op] : "unknown";
}

/* They pick one of the operands, by an order without ties but between operands that are the same.
 */
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
