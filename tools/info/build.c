/* SPDX-License-Identifier: BSD-3-Clause */
#include "ncoll.h"
#include "tools/info/info.h"

#ifdef NCOLL_HAVE_VERBS
#define HAVE_VERBS 1
#else
#define HAVE_VERBS 0
#endif
#ifdef NCOLL_HAVE_RDMACM
#define HAVE_RDMACM 1
#else
#define HAVE_RDMACM 0
#endif
#ifdef NCOLL_HAVE_PMIX
#define HAVE_PMIX 1
#else
#define HAVE_PMIX 0
#endif
#ifdef NCOLL_HAVE_HWLOC
#define HAVE_HWLOC 1
#else
#define HAVE_HWLOC 0
#endif
#ifdef NCOLL_HAVE_OPENMPI
#define HAVE_OPENMPI 1
#else
#define HAVE_OPENMPI 0
#endif
#ifdef NCOLL_HAVE_MPICH
#define HAVE_MPICH 1
#else
#define HAVE_MPICH 0
#endif
#ifdef NCOLL_HAVE_UCC
#define HAVE_UCC 1
#else
#define HAVE_UCC 0
#endif
#ifdef NCOLL_HAVE_GPI2
#define HAVE_GPI2 1
#else
#define HAVE_GPI2 0
#endif

json_t *info_build(void)
{
    json_t *out = json_object();

    json_object_set_new(out, "version", json_string(ncoll_version()));
    json_object_set_new(out, "compiler", json_string(NCOLL_COMPILER));
    json_object_set_new(out, "verbs", json_boolean(HAVE_VERBS));
    json_object_set_new(out, "rdmacm", json_boolean(HAVE_RDMACM));
    json_object_set_new(out, "pmix", json_boolean(HAVE_PMIX));
    json_object_set_new(out, "hwloc", json_boolean(HAVE_HWLOC));
    json_object_set_new(out, "mpi", json_boolean(HAVE_OPENMPI || HAVE_MPICH));
    json_object_set_new(out, "openmpi", json_boolean(HAVE_OPENMPI));
    json_object_set_new(out, "mpich", json_boolean(HAVE_MPICH));
    json_object_set_new(out, "ucc", json_boolean(HAVE_UCC));
    json_object_set_new(out, "gpi2", json_boolean(HAVE_GPI2));
    return out;
}
