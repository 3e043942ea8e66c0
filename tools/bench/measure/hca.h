/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hardware counters of an RDMA device, as the kernel shows them in /sys/class/infiniband: they
 * count for the whole device, and for all processes that use it.
 */
#ifndef NCOLL_TOOLS_BENCH_MEASURE_HCA_H
#define NCOLL_TOOLS_BENCH_MEASURE_HCA_H

#include <stdbool.h>
#include <stdint.h>

#define HCA_COUNTERS_MAX 96
#define HCA_NAME_MAX     48

struct hca {
    unsigned n;
    int files[HCA_COUNTERS_MAX];
    char names[HCA_COUNTERS_MAX][HCA_NAME_MAX];
};

struct hca_counts {
    uint64_t values[HCA_COUNTERS_MAX];
};

/* Opens all counters of a device and its port. `root` is /sys/class/infiniband. Returns NULL if
 * there are none. */
struct hca *hca_open(const char *root, const char *device, int port);
void hca_close(struct hca *hca);

/* Reads all counters. Does nothing if hca is NULL. */
void hca_read(const struct hca *hca, struct hca_counts *out);
/* Adds after - before to sum. */
void hca_add(const struct hca *hca, uint64_t *sum, const struct hca_counts *before,
             const struct hca_counts *after);

#endif
