/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bootstrap of the program's own: ranks find each other by files in a folder that all of them
 * see. A runtime that has a way to exchange a few bytes at its start puts that in place of the three
 * callbacks. The folder is a new one for each job, since files of an older job are not told apart.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <ncoll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct folder {
    const char *path;
    int rank, ranks;
    int fence, entered; /* the number of the current one; 1: this rank is in it */
    int arrived;        /* the ranks below this one are in it, too */
};

static void check(const ncoll_context *ctx, int status)
{
    const ncoll_error *error = ncoll_last_error(ctx);

    if (status == NCOLL_OK)
        return;
    fprintf(stderr, "%s\n", error->status == status ? error->text : ncoll_status_text(status));
    exit(EXIT_FAILURE);
}

static void name_file(char name[FILENAME_MAX], const struct folder *f, int rank, const char *key)
{
    snprintf(name, FILENAME_MAX, "%s/%s.%d", f->path, key, rank);
}

/* The file gets its name when it is whole, so that no rank reads a part of it. */
static int put(void *arg, const char *key, const void *value, size_t len)
{
    const struct folder *f = arg;
    char part[FILENAME_MAX], name[FILENAME_MAX];

    name_file(part, f, f->rank, "part");
    name_file(name, f, f->rank, key);
    if (access(name, F_OK) == 0)
        return EEXIST; /* the folder of another job */
    FILE *file = fopen(part, "wb");
    if (file == NULL)
        return errno;
    int failed = fwrite(value, 1, len, file) != len;
    return fclose(file) != 0 || failed || rename(part, name) != 0;
}

/* After a time-out the library looks whether its own is over, and calls again for the same fence. */
static int fence(void *arg, int64_t timeout_ns)
{
    struct folder *f = arg;
    char key[32], name[FILENAME_MAX];

    snprintf(key, sizeof key, "fence-%d", f->fence);
    if (!f->entered && put(f, key, "", 0) != 0)
        return -1;
    f->entered = 1;
    for (; f->arrived < f->ranks; f->arrived++) {
        name_file(name, f, f->arrived, key);
        for (; access(name, F_OK) != 0; timeout_ns -= 1000000) {
            if (timeout_ns <= 0)
                return NCOLL_TIMEOUT;
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        }
    }
    f->fence++;
    f->entered = f->arrived = 0;
    return 0;
}

/* *len becomes the whole length, also if only a part fits: the library then gets it again. */
static int get(void *arg, int rank, const char *key, void *value, size_t *len)
{
    char name[FILENAME_MAX];

    name_file(name, arg, rank, key);
    FILE *file = fopen(name, "rb");
    if (file == NULL)
        return errno;
    *len = fread(value, 1, *len, file);
    while (fgetc(file) != EOF)
        ++*len;
    int failed = ferror(file);
    return fclose(file) != 0 || failed;
}

int main(int argc, char **argv)
{
    ncoll_params params;
    ncoll_context *ctx;
    ncoll_error error;

    if (argc != 4)
        return fprintf(stderr, "usage: bootstrap FOLDER RANK RANKS\n"), EXIT_FAILURE;
    struct folder folder = {.path = argv[1], .rank = atoi(argv[2]), .ranks = atoi(argv[3])};
    check(NULL, ncoll_params_init(&params, sizeof params));
    params.bootstrap = NCOLL_BOOTSTRAP_USER;
    params.callbacks = (ncoll_bootstrap_callbacks){put, fence, get, &folder};
    params.rank = folder.rank;
    params.ranks = folder.ranks;
    /* Callbacks cannot tell that a rank has died before it came here: the others wait so long. */
    params.bootstrap_timeout_ns = INT64_C(20000000000);
    if (ncoll_context_create(&params, &ctx, &error) != NCOLL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return EXIT_FAILURE;
    }
    int32_t bit = 1 << folder.rank, all = 0;
    check(ctx,
          ncoll_allreduce(ncoll_world(ctx), &bit, &all, 1, NCOLL_INT32, NCOLL_BOR, NCOLL_BLOCK));
    if (folder.rank == 0)
        printf("ranks that met in the folder: %#x\n", (unsigned)all);
    ncoll_context_destroy(ctx);
    return all == (1 << folder.ranks) - 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
