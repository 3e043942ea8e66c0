# SPDX-License-Identifier: BSD-3-Clause
"""ncoll: collective operations on NumPy arrays, array.array, bytearray and all that has the buffer protocol.

    import ncoll, numpy

    with ncoll.Context() as job:
        data = numpy.full(1000, job.rank + 1.0)
        out = numpy.empty_like(data)
        job.world.allreduce(data, out, ncoll.SUM)

Start it by a launcher (srun, prterun), or by `python -m ncoll.run -n 4 script.py`. What the calls mean stands in ncoll.h
and ncoll_eventual.h; this package needs libncoll, and finds it by NCOLL_LIBRARY (a path), the loader, or pkg-config.

Time-outs are in seconds; after a time-out calls return False, and the same call goes on. Errors are exceptions:
ncoll.Error. NumPy is used if it is there, and not needed.
"""
from .buffers import Typed, UserType, typed
from .constants import *  # noqa: F401,F403: every constant of the headers
from .context import CallInfo, Context, Memory, Registration, UserOp, radix_list, reason_name, reason_text, status_text, type_size, version
from .errors import ArgumentError, BusyError, Error, HandleError, MismatchError, PeerError
from .eventual import Codec, Compressor, Stale, StaleResult, Threshold, ThresholdStatus
from .fork import fork_ranks
from .group import Group
from .request import Request, wait_all, wait_any, wait_some
from .threads import ThreadBoard

__version__ = "0.2.0"
__all__ = [
    "ArgumentError", "BusyError", "CallInfo", "Codec", "Compressor", "Context", "Error", "Group", "HandleError", "Memory",
    "MismatchError", "PeerError", "Registration", "Request", "Stale", "StaleResult", "ThreadBoard", "Threshold",
    "ThresholdStatus", "Typed", "UserOp", "UserType", "fork_ranks", "radix_list", "reason_name", "reason_text",
    "status_text", "type_size", "typed", "version",
    "wait_all", "wait_any", "wait_some"]
__all__ += [name for name in dir() if name.isupper()]  # the constants
