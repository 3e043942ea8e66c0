/* SPDX-License-Identifier: BSD-3-Clause */
/* For x86-64 processors with AVX2. */
#include "lib/kernels.h"

#ifdef HAVE_KERNELS_AVX2
#define KERNELS        ncoll__kernels_avx2
#define KERNELS_TARGET __attribute__((target("avx2")))
#include "lib/kernels_body.h"
#endif
