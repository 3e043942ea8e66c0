/* SPDX-License-Identifier: BSD-3-Clause */
/* Text that may come from another process or from the environment, made fit for a terminal. */
#ifndef NCOLL_LIB_BASE_PRINTABLE_H
#define NCOLL_LIB_BASE_PRINTABLE_H

/* Replaces by '?' all bytes that a terminal could take for a command: the control characters of
 * ASCII, those of Unicode (U+0080 to U+009F), and bytes that are not UTF-8. */
void ncoll__make_printable(char *text);

#endif
