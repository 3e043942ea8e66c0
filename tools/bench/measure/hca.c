/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/measure/hca.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* True for entries that count nothing: hidden files, and lifespan, which is a time in ms. */
static bool is_no_count(const char *name)
{
    return name[0] == '.' || strcmp(name, "lifespan") == 0;
}

static void add_directory(struct hca *hca, const char *path)
{
    DIR *directory = opendir(path);
    const struct dirent *entry;

    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        if (is_no_count(entry->d_name) || strlen(entry->d_name) >= HCA_NAME_MAX ||
            hca->n == HCA_COUNTERS_MAX)
            continue;
        int file = openat(dirfd(directory), entry->d_name, O_RDONLY | O_CLOEXEC);
        if (file < 0)
            continue;
        hca->files[hca->n] = file;
        strcpy(hca->names[hca->n++], entry->d_name);
    }
    if (directory != NULL)
        closedir(directory);
}

struct hca *hca_open(const char *root, const char *device, int port)
{
    char path[512];
    struct hca *hca = calloc(1, sizeof *hca);

    if (hca == NULL)
        return NULL;
    snprintf(path, sizeof path, "%s/%s/hw_counters", root, device);
    add_directory(hca, path);
    snprintf(path, sizeof path, "%s/%s/ports/%d/hw_counters", root, device, port);
    add_directory(hca, path);
    if (hca->n > 0)
        return hca;
    free(hca);
    return NULL;
}

void hca_close(struct hca *hca)
{
    for (unsigned i = 0; hca != NULL && i < hca->n; i++)
        close(hca->files[i]);
    free(hca);
}

void hca_read(const struct hca *hca, struct hca_counts *out)
{
    char text[32];

    for (unsigned i = 0; hca != NULL && i < hca->n; i++) {
        ssize_t length = pread(hca->files[i], text, sizeof text - 1, 0);
        text[length > 0 ? length : 0] = '\0';
        out->values[i] = strtoull(text, NULL, 10);
    }
}

void hca_add(const struct hca *hca, uint64_t *sum, const struct hca_counts *before,
             const struct hca_counts *after)
{
    for (unsigned i = 0; hca != NULL && i < hca->n; i++)
        sum[i] += after->values[i] - before->values[i];
}
