/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of collectives and operations. */
#include "lib/base/names.h"

#include <stddef.h>

#include "lib/base/signature.h"
#include "lib/base/type.h"

static const char *const names[GROUP_CALLS] = {
    [COLL_BARRIER] = "barrier",
    [COLL_ALLREDUCE] = "allreduce",
    [COLL_BCAST] = "bcast",
    [COLL_REDUCE] = "reduce",
    [COLL_GATHER] = "gather",
    [COLL_SCATTER] = "scatter",
    [COLL_ALLGATHER] = "allgather",
    [COLL_ALLTOALL] = "alltoall",
    [COLL_REDUCE_SCATTER] = "reduce_scatter",
    [COLL_SCAN] = "scan",
    [COLL_EXSCAN] = "exscan",
    [GROUP_SPLIT] = "group_split",
    [GROUP_FROM_RANKS] = "group_from_ranks",
    [GROUP_DUP] = "group_dup",
    [GROUP_FREE] = "group_free",
};

const char *ncoll__collective_name(enum collective collective)
{
    return (unsigned)collective < GROUP_CALLS ? names[collective] : NULL;
}

static const char *const op_name[OPS_END] = {
    [NCOLL_SUM] = "sum",
    [NCOLL_PROD] = "prod",
    [NCOLL_MIN] = "min",
    [NCOLL_MAX] = "max",
    [NCOLL_LAND] = "land",
    [NCOLL_LOR] = "lor",
    [NCOLL_LXOR] = "lxor",
    [NCOLL_BAND] = "band",
    [NCOLL_BOR] = "bor",
    [NCOLL_BXOR] = "bxor",
    [NCOLL_MINLOC] = "minloc",
    [NCOLL_MAXLOC] = "maxloc",
    [NCOLL_SUM_REPRODUCIBLE] = "reproducible sum",
};

bool ncoll__op_known(ncoll_op op)
{
    return op < OPS_END && op_name[op] != NULL;
}

const char *ncoll__op_name(unsigned op)
{
    if (op >= OP_USER)
        return "user-defined";
    return ncoll__op_known(op) ? op_name[op] : "unknown";
}
