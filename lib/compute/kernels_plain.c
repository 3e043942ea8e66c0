/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels for every processor that the build is for. */
#define KERNELS ncoll__kernels_plain
#define KERNELS_TARGET
#include "lib/compute/kernels_body.h"
