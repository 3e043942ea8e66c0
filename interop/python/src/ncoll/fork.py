# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that are forked from this process, for tools and tests on one node."""
import ctypes
import sys
import traceback
from typing import Any, Callable, List

from . import _c, checks, errors
from .constants import Status
from .context import Context, Parameters


def fork_ranks(ranks: int, main: Callable[[Context], Any], **keywords: Any) -> List[int]:
    """Runs main(context) in `ranks` processes that are forked from this one, and waits for them. Returns their exit
    statuses: what main returned, if that is a number; 1 after an exception, whose traceback goes to standard error; 128
    plus the signal that ended the process. Keywords are those of Context, for all ranks.

    It is called by the only thread of a program; while the ranks run, no other thread does."""
    ranks = checks.whole(ranks, "ranks")
    checks.function(main, "main")
    interruptible = keywords.pop("interruptible", None)
    params = Parameters(keywords)
    codes = (ctypes.c_int * max(ranks, 1))()

    def child(given: int, _: Any) -> int:
        ctypes.pythonapi.PyOS_AfterFork_Child()
        code = 1
        try:
            ctypes.memmove(params.memory, given, params.lib.params_size)
            with Context(interruptible, _params=params) as context:
                result = main(context)
            code = result if isinstance(result, int) else 0
        except SystemExit as leaving:
            code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        return code

    sys.stdout.flush()
    sys.stderr.flush()
    ctypes.pythonapi.PyOS_BeforeFork()
    try:
        status = params.lib.fork_ranks(ranks, params.memory, _c.RANK_MAIN(child), None, codes)
    finally:
        ctypes.pythonapi.PyOS_AfterFork_Parent()
    if status not in (Status.OK, Status.ERR_PEER):
        raise errors.of_status(status, f"cannot fork {ranks} ranks: " + params.lib.status_text(status).decode())
    return list(codes)
