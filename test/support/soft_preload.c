/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The verbs devices made of memory for any program (LD_PRELOAD), to see what examining them takes:
 * SOFT_DEVICES says how many there are, SOFT_OPEN_US what it takes to open one, in microseconds of
 * processor time. They carry messages only within a process, so ranks have to reach each other
 * otherwise: NCOLL_TRANSPORT=shm+verbs on one node. When a process ends it prints how often devices
 * were opened, by itself and by those that it has forked, if SOFT_COUNT is set.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "test/support/soft_device.h"

static pid_t first;

static unsigned long number(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);

    return text != NULL ? strtoul(text, NULL, 10) : otherwise;
}

__attribute__((constructor)) static void begin(void)
{
    soft_reset();
    soft.devices = (unsigned)number("SOFT_DEVICES", 1);
    if (soft.devices > SOFT_DEVICES)
        soft.devices = SOFT_DEVICES;
    soft.open_ns = number("SOFT_OPEN_US", 0) * 1000u;
    first = getpid();
}

__attribute__((destructor)) static void end(void)
{
    if (getenv("SOFT_COUNT") != NULL && getpid() == first)
        fprintf(stderr, "devices were opened %u times\n", soft_opens());
}
