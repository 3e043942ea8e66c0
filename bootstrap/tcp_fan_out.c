/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/tcp_relay.h"

/* Two levels serve 1,000 ranks, three 34,000. */
const int ncoll__tcp_fan_out = 32;
