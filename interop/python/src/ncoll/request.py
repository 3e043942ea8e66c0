# SPDX-License-Identifier: BSD-3-Clause
"""Requests: collectives that were started, and persistent ones."""
import ctypes
from typing import TYPE_CHECKING, Any, List, Optional, Sequence

from . import checks
from .buffers import nanoseconds
from .constants import NO_INDEX, Status
from .errors import of_status

if TYPE_CHECKING:
    from .context import Context


class Request:
    """A started collective, or a persistent one.

    In a `with` statement it is finished at the end: waited for, and freed if it is persistent. Its buffers stay where
    they are until it is over, also if nobody refers to the request any more.
    """

    def __init__(self, context: "Context", handle: int, keep: Any, persistent: bool) -> None:
        self._context, self._handle, self._keep = context, ctypes.c_void_p(handle), keep
        self.persistent = persistent
        context._requests.add(self)

    def _live(self) -> None:
        self._context._open()
        if not self._handle:
            raise of_status(Status.ERR_HANDLE, "the request is over")

    def _settle(self) -> None:
        if not self._handle:
            self._keep = None
            self._context._requests.discard(self)

    @property
    def over(self) -> bool:
        """Whether it has been finished or freed."""
        return not self._handle

    def start(self) -> None:
        """Starts a persistent request."""
        self._live()
        self._context._check(self._context._lib.start(self._handle))

    def wait(self, timeout: Optional[float] = None) -> bool:
        """Waits for its end, at most `timeout` seconds; None: as long as it takes. Returns whether it has ended. One that
        is over has ended."""
        if not self._handle:
            return True
        self._context._open()
        try:
            return self._context._done(self._context._lib.wait(ctypes.byref(self._handle), nanoseconds(timeout)))
        finally:
            self._settle()

    def test(self) -> bool:
        """Whether it has ended, without waiting. Makes progress."""
        if not self._handle:
            return True
        self._context._open()
        try:
            return self._context._done(self._context._lib.test(ctypes.byref(self._handle)))
        finally:
            self._settle()

    def free(self) -> None:
        """Frees a persistent request that has ended, or was not started."""
        self._live()
        self._context._check(self._context._lib.request_free(ctypes.byref(self._handle)))
        self._settle()

    def __enter__(self) -> "Request":
        return self

    def __exit__(self, kind: Any, *rest: Any) -> None:
        if not self._handle or self._context.closed:
            return
        try:
            self.wait()
            if self._handle:
                self.free()
        except Exception:
            if kind is None:  # else the exception that is on its way tells more
                raise


def _several(requests: Sequence[Request]) -> Any:
    """The context of requests, and their handles as an array."""
    checks.one_of(requests, Sequence, "requests", "a sequence of requests")
    for request in requests:
        checks.one_of(request, Request, "an entry of requests", "a request")
    context = next((r._context for r in requests if not r.over), None)
    if context is not None:
        context._open()
    return context, (ctypes.c_void_p * max(len(requests), 1))(*[r._handle.value for r in requests])


def _take_back(requests: Sequence[Request], handles: Any) -> None:
    for request, handle in zip(requests, handles):
        request._handle.value = handle
        request._settle()


def wait_all(requests: Sequence[Request], timeout: Optional[float] = None) -> bool:
    """Waits for all requests, of one context. Returns False after a time-out, which ends none of them. After an error
    Error.index tells which one has failed; the same call goes on with the others."""
    context, handles = _several(requests)
    if context is None:
        return True
    failed = ctypes.c_size_t(NO_INDEX)
    status = context._lib.wait_all(handles, len(requests), ctypes.byref(failed), nanoseconds(timeout))
    _take_back(requests, handles)
    return context._done(status, None if failed.value == NO_INDEX else failed.value)


def wait_any(requests: Sequence[Request], timeout: Optional[float] = None) -> Optional[int]:
    """Waits for one request, whichever is done first, ends it, and returns its index; None: after a time-out, and if no
    request is started."""
    context, handles = _several(requests)
    if context is None:
        return None
    index = ctypes.c_size_t(NO_INDEX)
    status = context._lib.wait_any(handles, len(requests), ctypes.byref(index), nanoseconds(timeout))
    _take_back(requests, handles)
    found = None if index.value == NO_INDEX else index.value
    return found if context._done(status, found) else None


def wait_some(requests: Sequence[Request], timeout: Optional[float] = None) -> List[int]:
    """Waits until some requests are done, ends all that are, and returns their indices; none after a time-out, and if no
    request is started. If one has failed, Error.index is its index, and Error.ended has those of all that have ended."""
    context, handles = _several(requests)
    if context is None:
        return []
    indices, n = (ctypes.c_size_t * len(requests))(), ctypes.c_size_t(0)
    status = context._lib.wait_some(handles, len(requests), indices, ctypes.byref(n), nanoseconds(timeout))
    _take_back(requests, handles)
    ended = list(indices[:n.value])
    try:
        context._done(status, ended[-1] if ended else None)
    except Exception as error:
        if hasattr(error, "ended"):
            error.ended = ended
        raise
    return ended
