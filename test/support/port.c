/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/support/port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <unistd.h>

int free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (bind(fd, (struct sockaddr *)&address, len) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) != 0)
        abort();
    close(fd);
    return ntohs(address.sin_port);
}
