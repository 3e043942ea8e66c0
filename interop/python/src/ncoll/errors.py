# SPDX-License-Identifier: BSD-3-Clause
"""Errors of ncoll as exceptions. A time-out is none: calls return False for it."""
from typing import Optional

from .constants import Reason, Status


class Error(Exception):
    """An error of a call.

    status   a Status, such as ERR_PEER
    reason   a Reason, such as PEER_DIED
    rank     world rank that reports the error; -1: not known
    peer     world rank that the error is about; -1: about none
    cause    what happened, and where
    remedy   what to do about it
    index    of wait_all(), wait_any() and wait_some(): which request has failed; None: no request
    ended    of wait_some(): indices of the requests that have ended, the failed one last
    """

    def __init__(self, status: int, text: str, cause: str = "", remedy: str = "", rank: int = -1, peer: int = -1,
                 index: Optional[int] = None, reason: int = Reason.OTHER) -> None:
        super().__init__(text)
        try:
            self.status: int = Status(status)
        except ValueError:  # of a later library
            self.status = status
        self.rank, self.peer, self.cause, self.remedy, self.index = rank, peer, cause, remedy, index
        try:
            self.reason: int = Reason(reason)
        except ValueError:
            self.reason = reason
        self.ended: list = []


class PeerError(Error):
    """A rank failed or left: ERR_PEER. `peer` names it."""


class MismatchError(Error):
    """Ranks called different collectives: ERR_MISMATCH."""


class ArgumentError(Error, ValueError):
    """A bad argument: ERR_ARGUMENT."""


class HandleError(Error):
    """An object that is closed, freed or over: ERR_HANDLE."""


class BusyError(Error):
    """Another call is unfinished, or going on: ERR_BUSY."""


_CLASSES = {Status.ERR_PEER: PeerError, Status.ERR_MISMATCH: MismatchError, Status.ERR_ARGUMENT: ArgumentError,
            Status.ERR_HANDLE: HandleError, Status.ERR_BUSY: BusyError}


def of_record(record, index: Optional[int] = None) -> Error:
    """The exception for a struct ncoll_error."""
    return _CLASSES.get(record.status, Error)(
        record.status, record.text.decode(errors="replace"), record.cause.decode(errors="replace"),
        record.remedy.decode(errors="replace"), record.rank, record.peer, index, record.reason)


def of_status(status: int, text: str, index: Optional[int] = None) -> Error:
    """The exception for a status of which there is no record."""
    return _CLASSES.get(status, Error)(status, text, index=index)
