/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds MPI's own functions. The next definition of PMPI_X after this library's own is MPI's, or
 * that of another tool that was preloaded after this library.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "interop/mpi/mpi_api.h"

struct real real;

static void find(const char *name, void *place)
{
    void *function = dlsym(RTLD_NEXT, name);

    memcpy(place, &function, sizeof function);
}

#define TEXT(x)  TEXT_(x)
#define TEXT_(x) #x

__attribute__((constructor)) static void find_all(void)
{
#define FIND(Name, name)                                                                           \
    find("PMPI_" #Name, &real.Name);                                                               \
    find("PMPI_I" #name, &real.I##name);
    COLLECTIVES(FIND)
#undef FIND
#ifdef HAVE_PERSISTENT
#define FIND(Name, name) find(TEXT(PERSISTENT(P, Name)), &real.Name##_init);
    COLLECTIVES(FIND)
#undef FIND
#endif
#ifdef HAVE_LARGE
#define FIND(Name, name)                                                                           \
    find("PMPI_" #Name "_c", &real.Name##_c);                                                      \
    find("PMPI_I" #name "_c", &real.I##name##_c);                                                  \
    find("PMPI_" #Name "_init_c", &real.Name##_init_c);
    MOVES_AND_REDUCTIONS(FIND)
#undef FIND
#endif
#define FIND(Name) find("PMPI_" #Name, &real.Name);
    OTHERS(FIND)
#undef FIND
}
