/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll-bench-ucc, ncoll-bench-gpi2: measure ncoll and another library, on the ranks that
 * ncoll-bench has. The library learns through ncoll which ranks these are.
 */
#include "examples/cg/support.h"
#include "tools/bench/bench.h"

static const struct subject *const subjects[] = {SUBJECTS_OF_NCOLL, &subject_beside, NULL};

int main(int argc, char **argv)
{
    struct options options;

    output_open();
    options_parse(argc, argv, run_is_quiet(), &options);
    return run_ranks(&options, subjects);
}
