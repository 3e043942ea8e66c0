/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

static int copied, deleted;

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm;
    (void)key;
    copied++;
    *(void **)out = (char *)in + 1;
    *flag = extra == &copied;
    return MPI_SUCCESS;
}

static int delete (MPI_Comm comm, int key, void *value, void *extra)
{
    int size;

    (void)key;
    (void)value;
    (void)extra;
    deleted++;
    /* A call in a callback: the communicator is still there. */
    MPI_Comm_size(comm, &size);
    return MPI_SUCCESS;
}

/* A program's attributes live and go with its communicators, and their callbacks are called once each. */
PROGRAM(attributes, "attributes of communicators, their copies and ends")
{
    static char base[16];
    MPI_Comm comm, twin;
    int key, there, sum;
    void *found;

    copied = deleted = 0;
    OK(MPI_Comm_create_keyval(copy, delete, &key, &copied));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_attr(comm, key, base));
    OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm));
    OK(MPI_Comm_dup(comm, &twin));
    OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, twin));
    OK(MPI_Comm_get_attr(twin, key, &found, &there));
    CHECK(there && found == base + 1 && copied == 1, "a copy's attribute: there %d, copied %d",
          there, copied);
    OK(MPI_Comm_delete_attr(twin, key));
    CHECK(deleted == 1, "deleted %d", deleted);
    OK(MPI_Comm_free(&twin));
    CHECK(deleted == 1, "deleted %d", deleted);
    OK(MPI_Comm_free(&comm));
    CHECK(deleted == 2, "deleted %d", deleted);
    OK(MPI_Comm_free_keyval(&key));
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &found, &there));
    CHECK(there && *(int *)found >= 32767, "MPI_TAG_UB");
}
