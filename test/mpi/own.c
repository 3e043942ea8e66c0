/* SPDX-License-Identifier: BSD-3-Clause */
#include "own.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* The library that has a function which nobody has a reason to replace. */
static void *mpi_library(void)
{
    void *known = dlsym(RTLD_DEFAULT, "MPI_Get_library_version");
    Dl_info info;

    if (known == NULL || dladdr(known, &info) == 0)
        return NULL;
    return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

void *own_function(const char *name)
{
    static void *library;
    void *function = NULL;

    if (library == NULL)
        library = mpi_library();
    if (library != NULL)
        function = dlsym(library, name);
    if (function == NULL) {
        fprintf(stderr, "the MPI library has no %s\n", name);
        abort();
    }
    return function;
}
