/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void output_open(void)
{
    /* Not to be written to: a result that nobody gets is a failure. */
    static const int flags[] = {
        [STDIN_FILENO] = O_RDONLY, [STDOUT_FILENO] = O_RDONLY, [STDERR_FILENO] = O_WRONLY};

    /* Those below are open by then, so it is the lowest that is free. */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", flags[fd]) != fd)
            exit(EXIT_FAILURE); /* there may be nowhere to say it */
}

bool output_written(FILE *out)
{
    bool failed_before = ferror(out), flushed = fflush(out) == 0;

    if (flushed && !failed_before)
        return true;
    /* The reason of an earlier failure is gone: try once more. */
    errno = flushed ? EIO : errno;
    if (flushed && fputc('\n', out) != EOF)
        fflush(out);
    fprintf(stderr, "%s: cannot write to standard %s: %s\n", program_invocation_short_name,
            out == stderr ? "error" : "output", strerror(errno));
    return false;
}
