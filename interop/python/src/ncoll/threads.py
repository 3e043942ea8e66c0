# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that are threads of this process."""
import ctypes
from typing import Any

from . import _c, checks, errors
from .constants import Status


class ThreadBoard:
    """A board by which ranks that are threads find each other: `Context(thread_board=board, rank=r)` in each of them. The
    interpreter's lock is free while a rank waits. Any thread may call it at any time."""

    def __init__(self, ranks: int) -> None:
        ranks = checks.whole(ranks, "ranks")
        self._lib = _c.library()
        self._board = ctypes.c_void_p()
        error = _c.ncoll_error()
        if self._lib.thread_board_create(ranks, ctypes.byref(self._board), ctypes.byref(error)) != Status.OK:
            raise errors.of_record(error)

    @property
    def pointer(self) -> ctypes.c_void_p:
        return self._board

    def give_up(self, rank: int) -> None:
        """Tells the others that a rank does not come, or does not call again: their calls end with PeerError."""
        status = self._lib.thread_board_give_up(self._board, checks.whole(rank, "rank"))
        if status != Status.OK:
            raise errors.of_status(status, f"there is no rank {rank} to give up")

    def close(self) -> None:
        """No rank will join on it any more. Contexts that there are go on."""
        if self._board:
            self._lib.thread_board_destroy(self._board)
            self._board = ctypes.c_void_p()

    def __enter__(self) -> "ThreadBoard":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_board", None):
            self.close()
