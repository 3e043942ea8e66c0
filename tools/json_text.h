/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NCOLL_TOOLS_JSON_TEXT_H
#define NCOLL_TOOLS_JSON_TEXT_H

#include <jansson.h>

/* Arguments and the environment may hold any bytes, JSON only UTF-8: bytes beyond ASCII become '?'
 * if it is not. */
json_t *json_text(const char *bytes);

#endif
