/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/info/info.h"

#ifdef NCOLL_HAVE_VERBS
#include "transport/verbs/device.h"
#endif

json_t *info_devices(void)
{
    return json_array();
}
