# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# For tests of scripts, which source it.

fail()
{
    echo "fail: $*"
    exit 1
}

# stand_in PATH LINE...: a program made of these lines of bash.
stand_in()
{
    local path=$1
    shift
    mkdir -p "$(dirname "$path")"
    printf '%s\n' '#!/bin/bash' "$@" >"$path"
    chmod 755 "$path"
}
