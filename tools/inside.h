/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The headers of lib/ that the tools may use (test/tools/inside checks this). None of them declares
 * the contents of a context or a group.
 */
#ifndef NCOLL_TOOLS_INSIDE_H
#define NCOLL_TOOLS_INSIDE_H

#include "lib/base/fraction.h"      /* of a threshold */
#include "lib/base/names.h"         /* of collectives */
#include "lib/base/settings.h"      /* what the environment says */
#include "lib/choose/rules_table.h" /* the tuning table as rules */
#include "lib/choose/tune.h"        /* the tuning table and its file */
#include "lib/compute/half.h"       /* reference results */
#include "lib/compute/op.h"         /* the library's own combination of two vectors */
#include "lib/inspect.h"            /* choices, predictions, the bare exchange */
#include "lib/topology/levels.h"    /* cores, caches, packages */
#include "lib/topology/places.h"    /* ranks that share cores */

#endif
