/* SPDX-License-Identifier: BSD-3-Clause */
#include "matrix.h"

#include <stdlib.h>

bool matrix_make(int64_t n, int64_t first, int64_t rows, int64_t nonzeros, struct matrix *out)
{
    /* One element more than needed, since an allocation of 0 bytes may return NULL. */
    struct matrix m = {
        .n = n,
        .first = first,
        .rows = rows,
        .starts = calloc((size_t)rows + 1, sizeof *m.starts),
        .columns = calloc((size_t)nonzeros + 1, sizeof *m.columns),
        .values = calloc((size_t)nonzeros + 1, sizeof *m.values),
    };

    if (m.starts == NULL || m.columns == NULL || m.values == NULL) {
        matrix_free(&m);
        return false;
    }
    *out = m;
    return true;
}

void matrix_free(struct matrix *m)
{
    free(m->values);
    free(m->columns);
    free(m->starts);
    *m = (struct matrix){0};
}
