/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/measure/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/cg/support.h"
#include "tools/inside.h"
#include "tools/bench/measure/cores.h"
#include "tools/bench/measure/room.h"
#include "tools/bench/names.h"
#include "tools/devices.h"
#include "transport/transport.h"

/* Each buffer begins on a page, so that buffers of different sizes are comparable between runs. */
#define BUFFER_ALIGNMENT 4096
#define BUFFERS          3 /* in, out, expected */
/* The shortest data with which the bare exchange is measured. */
#define BARE_BYTES ((size_t)4096)

static struct row *add_row(struct job *job, const struct subject *subject,
                           enum collective collective, size_t bytes)
{
    struct row *row = &job->rows[job->n_rows++];

    *row = (struct row){.subject = subject, .collective = collective, .bytes = bytes};
    if (bytes > 0)
        row->count = bytes / ncoll_type_size(job->options->type);
    return row;
}

static bool is_wanted(const struct job *job, const struct subject *subject)
{
    if (subject == &subject_persistent)
        return job->options->persistent || job->options->overlap;
    if (subject == &subject_overlap)
        return job->options->overlap;
    if (subject == &subject_compressed)
        return job->options->codec.size != 0;
    if (subject == &subject_entry || subject == &subject_exit || subject == &subject_strict)
        return job->options->strict;
    if (subject == &subject_slack0 || subject == &subject_slack1 || subject == &subject_slack4)
        return job->options->ssp;
    if (subject == &subject_threshold)
        return job->options->n_fractions > 0;
    return true;
}

/* Adds the rows of one collective, size and distribution, which are neighbours. */
static void add_alike(struct job *job, unsigned code, size_t bytes, enum distribution distribution)
{
    for (unsigned s = 0; job->subjects[s] != NULL; s++) {
        const struct subject *subject = job->subjects[s];
        bool by_fraction = subject == &subject_threshold;
        if (call_of(subject, code) == NULL || !is_wanted(job, subject))
            continue;
        for (unsigned f = 0; f < (by_fraction ? job->options->n_fractions : 1); f++) {
            struct row *row = add_row(job, subject, code % WITH_COUNTS, bytes);
            row->distribution = distribution;
            row->fraction = by_fraction ? job->options->fractions[f] : 0;
        }
    }
}

static void add_size(struct job *job, unsigned code, size_t bytes)
{
    if (code < WITH_COUNTS) {
        add_alike(job, code, bytes, DISTRIBUTION_NONE);
        return;
    }
    for (const struct name *n = names_of_distributions; n->text != NULL; n++)
        if ((job->options->distributions & 1u << n->code) != 0)
            add_alike(job, code, bytes, (enum distribution)n->code);
}

/* Adds the bare exchange, first without data, then with those sizes of the run at which bandwidth
 * matters. */
static void add_exchanges(struct job *job, const struct subject *subject)
{
    add_row(job, subject, 0, 0);
    for (size_t bytes = BARE_BYTES; bytes <= job->options->max_bytes; bytes *= 4) {
        add_row(job, subject, 0, bytes);
        if (bytes > job->options->max_bytes / 4)
            break;
    }
}

static bool is_passed(const struct subject *subject)
{
    return subject == &subject_push || subject == &subject_take;
}

/* True for subjects that copy. Copies from the other core need two ranks that each have one. */
static bool has_sizes(const struct job *job, const struct subject *subject)
{
    const struct options *o = job->options;
    struct op op;

    return subject == &subject_copy ||
           (subject == &subject_combine && ncoll__op_builtin(o->op, o->type, &op)) ||
           ((subject == &subject_pull || is_passed(subject)) && job->ranks == 2 &&
            !job->oversubscribed);
}

static void add_long_sizes(struct job *job, const struct subject *subject)
{
    for (unsigned i = 0; i < job->options->n_sizes; i++) {
        size_t bytes = job->options->sizes[i];
        if (bytes >= BARE_BYTES && (!is_passed(subject) || bytes <= PUSH_BYTES_MAX))
            add_row(job, subject, 0, bytes);
    }
}

/* Adds bare flags and copies. They are limits for ranks that share memory, and run only there. */
static void add_bare_rows(struct job *job)
{
    for (unsigned s = 0; job->subjects[s] != NULL; s++) {
        if (job->subjects[s] == &subject_raw)
            add_exchanges(job, job->subjects[s]);
        else if (job->subjects[s] == &subject_rate || job->subjects[s] == &subject_call)
            add_row(job, job->subjects[s], 0, 0);
        else if (job->subjects[s] == &subject_flags && job->flags != NULL)
            add_row(job, job->subjects[s], 0, 0);
        else if (has_sizes(job, job->subjects[s]) && job->flags != NULL)
            add_long_sizes(job, job->subjects[s]);
    }
}

static void add_rows(struct job *job)
{
    const struct options *options = job->options;

    if (options->interfere > 0 && job->flags != NULL)
        add_row(job, &subject_futex, 0, 0);
    if (options->raw)
        add_bare_rows(job);
    for (const struct name *n = names_of_collectives; n->text != NULL; n++) {
        if ((options->collectives & 1u << n->code) == 0)
            continue;
        if (n->code == COLL_BARRIER) {
            add_size(job, COLL_BARRIER, 0);
            continue;
        }
        for (unsigned i = 0; i < options->n_sizes; i++)
            add_size(job, (unsigned)n->code, options->sizes[i]);
    }
}

static size_t rows_at_most(const struct job *job)
{
    size_t subjects = 0;

    while (job->subjects[subjects] != NULL)
        subjects++;
    /* and the bare exchange: by powers of four */
    subjects += job->options->n_fractions;
    return subjects * CODES * job->options->n_sizes * DISTRIBUTIONS + SIZES_MAX;
}

/* Returns the number of blocks that the buffers have to hold. */
static size_t blocks_of(const struct job *job)
{
    if (job->options->collectives >> WITH_COUNTS != 0)
        return (size_t)job->ranks;
    for (int c = COLL_BARRIER; c < COLLECTIVES; c++)
        if ((job->options->collectives & 1u << c) != 0 &&
            (in_form(c) == FORM_BLOCKS || out_form(c) == FORM_BLOCKS))
            return (size_t)job->ranks;
    return 1;
}

/* Sets *out to memory of a kind. The context's last error has the reason of a failure, except if
 * malloc() failed. */
static int buffer(struct job *job, enum memory_kind kind, size_t bytes, void **out)
{
    size_t rounded = (bytes + BUFFER_ALIGNMENT - 1) / BUFFER_ALIGNMENT * BUFFER_ALIGNMENT;
    int rc = NCOLL_OK;

    if (kind == MEMORY_ALLOC)
        rc = ncoll_alloc(job->ctx, rounded, out);
    else
        *out = aligned_alloc(BUFFER_ALIGNMENT, rounded);
    if (rc == NCOLL_OK && *out == NULL)
        rc = NCOLL_ERR_MEMORY;
    if (rc == NCOLL_OK && kind == MEMORY_REGISTERED)
        rc = ncoll_mem_register(job->ctx, *out, rounded);
    if (rc == NCOLL_OK)
        memset(*out, 0, rounded); /* no page fault in the first timed call */
    return rc;
}

static void unbuffer(struct job *job, enum memory_kind kind, void *memory)
{
    if (kind == MEMORY_ALLOC) {
        ncoll_free(job->ctx, memory);
        return;
    }
    if (kind == MEMORY_REGISTERED && memory != NULL)
        ncoll_mem_deregister(job->ctx, memory);
    free(memory);
}

/* Allocates the memory of one row. */
static bool furnish(struct job *job, struct row *row)
{
    size_t calls = job->options->iterations;
    unsigned least = job->options->batch_min > 0 ? job->options->batch_min : job->batch;

    row->batch = job->batch;
    row->warmup = job->options->warmup;
    row->samples_ns = calloc(calls, sizeof *row->samples_ns);
    row->batch_ns = calloc(calls / least, sizeof *row->batch_ns);
    row->cores_ns = calloc(calls / least * CORES_LOOKS, sizeof *row->cores_ns);
    row->hca = calloc(job->hca != NULL ? job->hca->n : 1, sizeof *row->hca);
    if (row->samples_ns == NULL || row->batch_ns == NULL || row->cores_ns == NULL ||
        row->hca == NULL)
        return false;
    return row->distribution == DISTRIBUTION_NONE ||
           blocks_make(row->distribution, row->count, job->ranks, &row->blocks);
}

static void unfurnish(struct row *row)
{
    blocks_free(&row->blocks);
    free(row->hca);
    free(row->cores_ns);
    free(row->batch_ns);
    free(row->samples_ns);
}

/* Removes rows that a library cannot do. It is an error if no row of the library is left. */
static int leave_out_impossible(struct job *job)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < job->n_rows; i++) {
        struct row *row = &job->rows[i];
        if (row->subject->can == NULL || row->subject->can(job, row))
            job->rows[kept++] = *row;
        else
            unfurnish(row);
    }
    job->n_rows = kept;
    for (unsigned s = 0; job->subjects[s] != NULL; s++)
        if (job->subjects[s]->can != NULL && !has_rows(job, job->subjects[s]))
            return failure_say(NCOLL_ERR_UNSUPPORTED,
                               "%s does none of this: not with these types and sizes",
                               job->subjects[s]->label);
    return NCOLL_OK;
}

/* Opens the counters of the device that verbs uses. */
static struct hca *open_chosen_hca(void)
{
    json_t *device = devices_chosen();
    const char *name = json_string_value(json_object_get(device, "device"));
    int port = (int)json_integer_value(json_object_get(device, "port"));
    struct hca *hca = name != NULL ? hca_open("/sys/class/infiniband", name, port) : NULL;

    json_decref(device);
    return hca;
}

/* Allocates the time stamps of one batch. */
static bool make_stamps(struct job *job)
{
    unsigned stamps = job->batch > job->options->warmup ? job->batch : job->options->warmup;

    job->entry_ns = calloc(stamps, sizeof *job->entry_ns);
    job->exit_ns = calloc(stamps, sizeof *job->exit_ns);
    job->own_ns = calloc(stamps, sizeof *job->own_ns);
    job->all_ns = calloc(job->batch + BATCH_FIGURES, sizeof *job->all_ns);
    return job->entry_ns != NULL && job->exit_ns != NULL && job->own_ns != NULL &&
           job->all_ns != NULL;
}

int plan_make(struct job *job)
{
    const struct options *options = job->options;
    struct ncoll_stats stats = {.size = sizeof stats};

    if (options->raw && job->ranks % 2 != 0) /* without -n the number of ranks is known only now */
        return failure_say(NCOLL_ERR_ARGUMENT,
                           "--raw runs between pairs of ranks: start an even number, not %d",
                           job->ranks);
    job->batch = options->batch;
    job->rows = calloc(rows_at_most(job), sizeof *job->rows);
    job->cpus = calloc((size_t)job->ranks, sizeof *job->cpus);
    if (!make_stamps(job) || job->rows == NULL || job->cpus == NULL ||
        (options->cold && !start_cold_open(job)))
        return NCOLL_ERR_MEMORY;
    int rc = ncoll_context_stats(job->ctx, &stats);
    if (rc == NCOLL_OK && options->interfere > 0 && stats.nodes > 1)
        return failure_say(NCOLL_ERR_ARGUMENT, "--interfere is for ranks on one node, not on %d",
                           stats.nodes);
    job->oversubscribed = stats.oversubscribed;
    job->sees_cores = job->ranks % 2 == 0 && stats.nodes == 1 && !job->oversubscribed &&
                      strcmp(stats.transport, "shm") == 0;
    size_t blocks = blocks_of(job), bytes = options->max_bytes * blocks;
    if (rc == NCOLL_OK && !room_for_buffers(&stats, BUFFERS, blocks, options->max_bytes))
        rc = NCOLL_ERR_MEMORY;
    if (rc == NCOLL_OK) /* no rank allocates before all have checked */
        rc = ncoll_barrier(job->world, NCOLL_BLOCK);
    if (rc == NCOLL_OK)
        rc = buffer(job, options->memory, bytes, &job->in);
    if (rc == NCOLL_OK)
        rc = buffer(job, options->memory, bytes, &job->out);
    if (rc == NCOLL_OK && (options->validation != VALIDATE_NONE || options->raw))
        rc = buffer(job, MEMORY_MALLOC, bytes, &job->expected);
    if (rc == NCOLL_OK && (options->raw || options->interfere > 0))
        rc = bare_flags_open(job);
    if (rc != NCOLL_OK)
        return rc;
    add_rows(job);
    if (job->rank == 0 && strstr(stats.transport, "verbs") != NULL)
        job->hca = open_chosen_hca();
    for (unsigned i = 0; i < job->n_rows; i++)
        if (!furnish(job, &job->rows[i]))
            return NCOLL_ERR_MEMORY;
    return leave_out_impossible(job);
}

void plan_free(struct job *job)
{
    for (unsigned i = 0; i < job->n_rows; i++)
        unfurnish(&job->rows[i]);
    free(job->rows);
    free(job->cpus);
    bare_flags_close(job);
    unbuffer(job, MEMORY_MALLOC, job->expected);
    unbuffer(job, job->options->memory, job->out);
    unbuffer(job, job->options->memory, job->in);
    hca_close(job->hca);
    start_cold_close(job);
    free(job->all_ns);
    free(job->own_ns);
    free(job->exit_ns);
    free(job->entry_ns);
}

size_t elements_of(const struct job *job, const struct row *row, enum data_form form)
{
    size_t last = (size_t)job->ranks - 1;

    if (form == FORM_NONE)
        return 0;
    if (row->distribution == DISTRIBUTION_NONE)
        return row->count * (form == FORM_BLOCKS ? last + 1 : 1);
    return form == FORM_BLOCKS ? row->blocks.displs[last] + row->blocks.counts[last]
                               : row->blocks.counts[job->rank];
}

/* True if no rank can end a call before all have entered it. Then ranks stay together without a
 * barrier.
 */
static bool waits_for_all(const struct row *row)
{
    enum collective c = row->collective;

    return !is_rooted(c) && c != COLL_SCAN && c != COLL_EXSCAN && !row->blocks.some_empty;
}

bool is_back_to_back(const struct job *job, const struct row *row)
{
    if (row->subject->batch != NULL)
        return !row->subject->apart;
    const struct options *o = job->options;
    return o->validation != VALIDATE_EVERY && o->start == START_FOLLOW && o->skew_us == 0 &&
           !o->cold && waits_for_all(row) && (!o->fresh || row->collective == COLL_BARRIER);
}

bool has_rows(const struct job *job, const struct subject *subject)
{
    for (unsigned i = 0; i < job->n_rows; i++)
        if (job->rows[i].subject == subject)
            return true;
    return false;
}

/* Returns the bytes that each rank sends at least, in a ring, for each byte of the vector or block.
 * Source: nccl-tests, doc/PERFORMANCE.md, where the size of collectives with blocks is that of all
 * blocks. */
static double bus_factor(enum collective collective, double ranks)
{
    switch (collective) {
    case COLL_ALLREDUCE:
        return 2 * (ranks - 1) / ranks;
    case COLL_BCAST:
    case COLL_REDUCE:
        return 1;
    case COLL_GATHER:
    case COLL_SCATTER:
    case COLL_ALLGATHER:
    case COLL_ALLTOALL:
    case COLL_REDUCE_SCATTER:
        return ranks - 1;
    default:
        return 0;
    }
}

double bandwidth_of(const struct job *job, const struct row *row)
{
    double factor = row->collective != 0 ? bus_factor(row->collective, job->ranks) : 1;

    return row->p50_us > 0 ? factor * (double)row->bytes / row->p50_us : 0;
}

double rate_of(const struct row *row)
{
    return row->subject == &subject_rate && row->p50_us > 0 ? RAW_WRITES_MAX / row->p50_us * 1e6
                                                            : 0;
}

double bound_of(const struct job *job, const struct row *row)
{
    double most = 0;

    for (unsigned i = 0; i < job->n_rows; i++)
        if (job->rows[i].subject == &subject_raw && bandwidth_of(job, &job->rows[i]) > most)
            most = bandwidth_of(job, &job->rows[i]);
    return row->collective == COLL_ALLREDUCE && most > 0 ? bandwidth_of(job, row) / most : 0;
}

const struct row *row_of(const struct job *job, const struct subject *subject,
                         const struct row *row)
{
    for (unsigned i = 0; i < job->n_rows; i++) {
        const struct row *other = &job->rows[i];
        bool alike = other->bytes == row->bytes && other->collective == row->collective &&
                     other->distribution == row->distribution;
        bool comparable =
            alike || (other->collective == 0 &&
                      (has_sizes(job, subject) ? other->bytes == row->bytes : other->bytes == 0));
        if (other->subject == subject && other->subject != row->subject && comparable)
            return other;
    }
    return NULL;
}
