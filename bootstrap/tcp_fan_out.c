/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/tcp_relay.h"

/* A tree with this fan-out serves 1,000 ranks with two levels, and 34,000 with three. */
const int ncoll__tcp_fan_out = 32;
