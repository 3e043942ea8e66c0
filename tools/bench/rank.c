/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <unistd.h>

#include "examples/cg/support.h"
#include "tools/bench/bench.h"
#include "tools/bench/interfere.h"
#include "tools/bench/measure/measure.h"
#include "tools/bench/report/report.h"

/* Prints a failure. The context has the text, unless the failure did not come from ncoll. */
static void say_failure(const struct job *job, int status)
{
    const ncoll_error *error = ncoll_last_error(job->ctx);

    if (error->status == status)
        failure_report(error);
    else
        failure_say((ncoll_status)status, "%s", ncoll_status_text(status));
}

static int open_subjects(struct job *job)
{
    int status = NCOLL_OK;

    for (unsigned s = 0; status == NCOLL_OK && job->subjects[s] != NULL; s++)
        if (job->subjects[s]->open != NULL)
            status = job->subjects[s]->open(job);
    return status;
}

static void close_subjects(struct job *job)
{
    for (unsigned s = 0; job->subjects[s] != NULL; s++)
        if (job->subjects[s]->close != NULL)
            job->subjects[s]->close(job);
}

/* Resident memory of this process, in bytes; 0: not known. */
static uint64_t resident_bytes(void)
{
    unsigned long long pages = 0;
    FILE *in = fopen("/proc/self/statm", "re");

    if (in == NULL)
        return 0;
    if (fscanf(in, "%*u %llu", &pages) != 1)
        pages = 0;
    fclose(in);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int measure_and_report(struct job *job)
{
    uint64_t wrong = 0;
    int status = open_subjects(job);

    if (status == NCOLL_OK)
        status = plan_make(job);
    if (status == NCOLL_OK)
        status = measure(job);
    if (status != NCOLL_OK) {
        say_failure(job, status);
        return EXIT_FAILURE;
    }
    for (unsigned i = 0; i < job->n_rows; i++)
        wrong += job->rows[i].wrong;
    int reported = job->rank == 0 ? report(job) : 0;
    if (wrong > 0 && job->rank == 0)
        failure_say(NCOLL_ERR_INTERNAL, "wrong results: see the table");
    /* If a rank left with a failure now, the launcher might kill all ranks before rank 0 has
     * written. */
    status = ncoll_barrier(job->world, NCOLL_BLOCK);
    return wrong > 0 || reported != 0 || status != NCOLL_OK ? EXIT_FAILURE : EXIT_SUCCESS;
}

int bench_rank(const ncoll_params *params, const struct options *options,
               const struct subject *const *subjects, bool bound)
{
    struct job job = {.options = options, .subjects = subjects, .bound = bound};
    ncoll_params own = *params;
    ncoll_error error;

    if (options->interfere > 0 && getenv(INTERFERES) == NULL) {
        failure_say(NCOLL_ERR_ARGUMENT, "--interfere is for ranks that ncoll-bench starts itself: "
                                        "with a launcher, start such processes by hand");
        return EXIT_FAILURE;
    }
    own.log = failure_log;
    uint64_t resident = resident_bytes(), start = now_ns();
    if (ncoll_context_create(&own, &job.ctx, &error) != NCOLL_OK) {
        failure_report(&error);
        return EXIT_FAILURE;
    }
    uint64_t created = now_ns();
    job.startup.create_ns = created - start;
    job.world = ncoll_world(job.ctx);
    job.rank = ncoll_group_rank(job.world);
    job.ranks = ncoll_group_size(job.world);
    int status = ncoll_barrier(job.world, NCOLL_BLOCK);
    job.startup.barrier_ns = now_ns() - created;
    job.startup.resident_bytes = resident_bytes() - resident;
    if (status != NCOLL_OK)
        say_failure(&job, status);
    int exit_status = status == NCOLL_OK ? measure_and_report(&job) : EXIT_FAILURE;
    if (exit_status == EXIT_SUCCESS)
        close_subjects(&job);
    plan_free(&job);
    ncoll_context_destroy(job.ctx);
    return exit_status;
}
