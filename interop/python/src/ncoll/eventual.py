# SPDX-License-Identifier: BSD-3-Clause
"""Collectives that need not wait for all: stale-synchronous and partial allreduces, thresholds, compression. Their
meaning is that of ncoll_eventual.h."""
import ctypes
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Sequence

from . import _c, checks
from .buffers import View, has, nanoseconds, same_type, source, target, type_number
from .constants import DataType, Operation, StaleAlgorithm, Status, ThresholdOf
from .errors import of_status
from .operations import AnyOp, op_number
from .request import Request

if TYPE_CHECKING:
    from .buffers import AnyType
    from .group import Group


class StaleResult:
    """The contributions that a result was made of; filled in when the call ends."""

    def __init__(self, ranks: int) -> None:
        self._ranks = ranks
        self._c = _c.ncoll_stale_result(size=ctypes.sizeof(_c.ncoll_stale_result))

    @property
    def clock(self) -> int:
        """Clock of this rank in the call."""
        return self._c.clock

    @property
    def min_clock(self) -> int:
        """Oldest clock of a contribution in the result."""
        return self._c.min_clock

    @property
    def fresh(self) -> int:
        """Ranks whose contribution has at least this rank's clock; -1 without clocks."""
        return self._c.fresh

    @property
    def clocks(self) -> Optional[List[int]]:
        """Clock of each rank's contribution; None without clocks. Read it before the next call on the object."""
        return list(self._c.clocks[:self._ranks]) if self._c.clocks else None

    @property
    def waited(self) -> float:
        """Seconds that the call has waited for contributions that were too old."""
        return self._c.waited_ns / 1e9


class Stale:
    """Clocks and mailboxes of a group: see Group.create_stale(). In a `with` statement it is freed at the end, which is
    collective; if an exception leaves the statement, it is left to its context."""

    def __init__(self, group: "Group", handle: int, count: int, type: int, op: int) -> None:
        self._group, self._context, self._handle = group, group.context, ctypes.c_void_p(handle)
        self._count, self._type, self._op = count, type, op

    def __enter__(self) -> "Stale":
        return self

    def __exit__(self, kind: Any, *rest: Any) -> None:
        if kind is None and self._handle and not self._context.closed:
            self.free()

    def free(self, timeout: Optional[float] = None) -> bool:
        """Frees it; collective over the ranks that made it."""
        self._live()
        return self._context._done(self._context._lib.stale_free(ctypes.byref(self._handle), nanoseconds(timeout)))

    def _live(self) -> ctypes.c_void_p:
        self._context._open()
        if not self._handle:
            raise of_status(Status.ERR_HANDLE, "the object is freed")
        return self._handle

    def _prepare(self, data: Any, out: Any, number: int, result: Optional[StaleResult]) -> Any:
        d, o = source(data), target(out)
        same_type(d, o)
        has(o, "out", d.count)
        checks.one_or_none(result, StaleResult, "result", "None or a StaleResult")
        c = ctypes.byref(result._c) if result is not None else None
        return (self._live(), d.address, o.address, d.count, d.number, self._op, number, c), (d, o, result, self)

    def allreduce(self, data: Any, out: Any, slack: int, result: Optional[StaleResult] = None,
                  timeout: Optional[float] = None) -> bool:
        """Stale-synchronous allreduce: uses contributions that are up to `slack` calls old."""
        return self._group._call("allreduce_ssp", self._prepare(data, out, checks.whole(slack, "slack"), result), timeout)

    def allreduce_start(self, data: Any, out: Any, slack: int, result: Optional[StaleResult] = None) -> Request:
        """Starts allreduce() as a request."""
        return self._group._start("allreduce_ssp", self._prepare(data, out, checks.whole(slack, "slack"), result))

    def allreduce_init(self, data: Any, out: Any, slack: int, result: Optional[StaleResult] = None) -> Request:
        """Makes a persistent request of allreduce()."""
        return self._group._start("allreduce_ssp", self._prepare(data, out, checks.whole(slack, "slack"), result), True)

    def allreduce_partial(self, data: Any, out: Any, quorum: int, result: Optional[StaleResult] = None,
                          timeout: Optional[float] = None) -> bool:
        """Partial allreduce of an object made with partial=True: waits for `quorum` ranks, SOLO or MAJORITY, and uses
        what comes late in a later call."""
        return self._group._call("allreduce_partial", self._prepare(data, out, checks.whole(quorum, "quorum"), result), timeout)

    def allreduce_partial_start(self, data: Any, out: Any, quorum: int,
                                result: Optional[StaleResult] = None) -> Request:
        """Starts allreduce_partial() as a request."""
        return self._group._start("allreduce_partial", self._prepare(data, out, checks.whole(quorum, "quorum"), result))

    def allreduce_partial_init(self, data: Any, out: Any, quorum: int, result: Optional[StaleResult] = None) -> Request:
        """Makes a persistent request of allreduce_partial()."""
        return self._group._start("allreduce_partial", self._prepare(data, out, checks.whole(quorum, "quorum"), result), True)

    def result(self) -> StaleResult:
        """A StaleResult for calls of this object."""
        return StaleResult(self._group.size)


class ThresholdStatus:
    """What is in after a call with a threshold. Lists of the elements and ranks that are in are kept if they are asked
    for; a call that goes on with others by weight, or by ranks, needs them."""

    def __init__(self, elements: Optional[int] = None, ranks: Optional[int] = None) -> None:
        elements = None if elements is None else checks.size(elements, "elements")
        ranks = None if ranks is None else checks.whole(ranks, "ranks", 0)
        self._elements = (ctypes.c_uint8 * elements)() if elements else None
        self._ranks = (ctypes.c_uint8 * ranks)() if ranks else None
        pointer = ctypes.POINTER(ctypes.c_uint8)
        self._c = _c.ncoll_threshold_status(
            size=ctypes.sizeof(_c.ncoll_threshold_status),
            element_in=ctypes.cast(self._elements, pointer) if elements else None,
            rank_in=ctypes.cast(self._ranks, pointer) if ranks else None)

    @property
    def elements(self) -> int:
        """Number of elements that are in."""
        return self._c.elements

    @property
    def ranks(self) -> int:
        """Number of ranks that are in."""
        return self._c.ranks

    @property
    def element_in(self) -> Optional[List[bool]]:
        """For each element whether it is in."""
        return [bool(x) for x in self._elements] if self._elements is not None else None

    @property
    def rank_in(self) -> Optional[List[bool]]:
        """For each rank whether it is in."""
        return [bool(x) for x in self._ranks] if self._ranks is not None else None


class Threshold:
    """The part that a bcast or a reduce is done for.

    fraction  0 to 1; the same on all ranks
    of        THRESHOLD_DATA: the first elements; THRESHOLD_HEAVIEST: those of the greatest weights; THRESHOLD_RANKS: the
              root and the ranks of the greatest weights
    weights   of elements or ranks
    after     the status of earlier calls: what they have delivered is not delivered again
    """

    def __init__(self, fraction: float, of: ThresholdOf = ThresholdOf.DATA, weights: Optional[Sequence[float]] = None,
                 after: Optional[ThresholdStatus] = None) -> None:
        given = None if weights is None else checks.reals(weights, "weights")
        self.count = None if given is None else len(given)
        self.of = ThresholdOf(checks.whole(of, "of", expected="THRESHOLD_DATA, THRESHOLD_HEAVIEST or THRESHOLD_RANKS"))
        self._weights = (ctypes.c_double * max(len(given), 1))(*given) if given is not None else None
        self._after = checks.one_or_none(after, ThresholdStatus, "after", "None or a ThresholdStatus")
        self._c = _c.ncoll_threshold(
            size=ctypes.sizeof(_c.ncoll_threshold), of=self.of,
            fraction=checks.real(fraction, "fraction"),
            weights=ctypes.cast(self._weights, ctypes.POINTER(ctypes.c_double)) if weights is not None else None,
            after=ctypes.pointer(after._c) if after is not None else None)

    def _fit(self, elements: int, ranks: int, status: Optional[ThresholdStatus]) -> None:
        """The library reads and writes as many as there are, so there have to be so many."""
        checks.one_or_none(status, ThresholdStatus, "status", "None or a ThresholdStatus")
        needed = ranks if self.of == ThresholdOf.RANKS else elements
        if self.count is not None and self.count != needed:
            raise ValueError(f"there are {self.count} weights for {needed} elements or ranks")
        for one in (status, self._after):
            if one is not None and one._elements is not None and len(one._elements) != elements:
                raise ValueError(f"the status is for {len(one._elements)} elements, not {elements}")
            if one is not None and one._ranks is not None and len(one._ranks) != ranks:
                raise ValueError(f"the status is for {len(one._ranks)} ranks, not {ranks}")


class Codec:
    """A pair of functions that writes a vector in fewer bytes, and reads it again.

    Codec.topk() and Codec.round16() are in the library. One of the program's own:

    name        compared between ranks
    bound       bound(count, type) -> the most bytes that encode() may write; None: it does not take this type
    encode      encode(elements) -> bytes; elements as in operations (Context.create_op)
    decode      decode(bytes, count) -> the elements, a sequence
    parameters  a number that all ranks must have alike
    flags       CODEC_CHUNKS, CODEC_FIXED, CODEC_SURE

    An exception in one of them makes the call fail with ERR_CODEC on all ranks; its text goes to sys.unraisablehook.
    """

    def __init__(self, name: str, bound: Callable[[int, DataType], Optional[int]], encode: Callable[[Any], bytes],
                 decode: Callable[[bytes, int], Any], parameters: int = 0, flags: int = 0) -> None:
        from .buffers import elements
        for given, what in ((bound, "bound"), (encode, "encode"), (decode, "decode")):
            checks.function(given, what)
        lib = _c.library()
        wrong = ctypes.c_size_t(-1).value

        def bound_of(count: int, type: int, codec: int) -> int:
            try:
                bytes_ = bound(count, DataType(type))
                return wrong if bytes_ is None else int(bytes_)
            except Exception as error:
                _unraisable(error, bound)
                return wrong

        def encode_to(out: int, data: int, count: int, type: int, codec: int) -> int:
            try:
                written = bytes(encode(elements(data, count, DataType(type), lib.type_size(type), True)))
                if len(written) > bound_of(count, type, codec):
                    raise ValueError(f"encode() gave {len(written)} bytes, more than bound() says")
                ctypes.memmove(out, written, len(written))
                return len(written)
            except Exception as error:
                _unraisable(error, encode)
                return wrong

        def decode_to(out: int, data: int, length: int, count: int, type: int, codec: int) -> int:
            try:
                given = decode(ctypes.string_at(data, length), count)
                store(elements(out, count, DataType(type), lib.type_size(type), False), given)
                return 0
            except Exception as error:
                _unraisable(error, decode)
                return 1

        self._functions = _c.BOUND(bound_of), _c.ENCODE(encode_to), _c.DECODE(decode_to)
        self._c = _c.ncoll_codec(size=ctypes.sizeof(_c.ncoll_codec), name=checks.text(name, "name"),
                                 flags=checks.whole(flags, "flags", 0),
                                 parameters=checks.whole(parameters, "parameters", 0, 2**64 - 1), bound=self._functions[0], encode=self._functions[1],
                                 decode=self._functions[2])

    @classmethod
    def _built_in(cls, function: str, argument: Any) -> "Codec":
        codec = cls.__new__(cls)
        codec._functions = ()  # type: ignore[assignment]
        codec._c = _c.ncoll_codec(size=ctypes.sizeof(_c.ncoll_codec))
        status = getattr(_c.library(), function)(ctypes.byref(codec._c), argument)
        if status != Status.OK:
            raise of_status(status, f"ncoll_{function}: bad argument {argument!r}")
        return codec

    @classmethod
    def topk(cls, fraction: float) -> "Codec":
        """Top-k sparsification: keeps this fraction of the elements, the largest in magnitude."""
        return cls._built_in("codec_topk", checks.real(fraction, "fraction"))

    @classmethod
    def round16(cls, to: DataType) -> "Codec":
        """Rounding to HALF or BFLOAT16."""
        return cls._built_in("codec_round16", type_number(to, "to"))


def _unraisable(error: Exception, function: Any) -> None:
    """Tells of an exception that cannot go through C, as the interpreter does itself."""
    import sys
    from types import SimpleNamespace
    sys.unraisablehook(SimpleNamespace(  # type: ignore[arg-type]
        exc_type=type(error), exc_value=error, exc_traceback=error.__traceback__, err_msg=None, object=function))


def store(out: Any, values: Any) -> None:
    """Puts a result into memory of the library, all of it or none."""
    if hasattr(out, "dtype"):
        import numpy
        values = numpy.asarray(values, dtype=out.dtype)
        if values.shape != out.shape:
            raise ValueError(f"the result has the shape {values.shape}, not {out.shape}")
        out[...] = values
        return
    values = list(values)
    if len(values) != len(out):
        raise ValueError(f"the result has {len(values)} elements, not {len(out)}")
    for i, value in enumerate(values):
        out[i] = value


class Compressor:
    """A codec at work: see Group.create_compressor(). In a `with` statement it is freed at the end. It serves one call at
    a time."""

    def __init__(self, group: "Group", handle: int, codec: Codec, count: int, type: int) -> None:
        self._group, self._context, self._handle = group, group.context, ctypes.c_void_p(handle)
        self._codec, self._count, self._type = codec, count, type

    def __enter__(self) -> "Compressor":
        return self

    def __exit__(self, kind: Any, *rest: Any) -> None:
        if kind is None and self._handle and not self._context.closed:
            self.free()

    def _live(self) -> ctypes.c_void_p:
        self._context._open()
        if not self._handle:
            raise of_status(Status.ERR_HANDLE, "the compressor is freed")
        return self._handle

    def free(self) -> None:
        """Frees it, and its residual with it. Local."""
        self._live()
        self._context._check(self._context._lib.compressor_free(ctypes.byref(self._handle)))

    def _whole(self, view: Any, name: str) -> None:
        has(view, name, self._count)
        if view.number != self._type:
            raise TypeError(f"{name} has elements of another type than the compressor")

    def residual(self, out: Any) -> None:
        """Copies what this rank's calls have lost so far."""
        o = target(out)
        self._whole(o, "out")
        self._context._check(self._context._lib.compressor_residual(self._live(), o.address))

    def reset(self, residual: Any = None) -> None:
        """Sets the residual: to zeroes, or to one that was copied."""
        r = source(residual, "residual", needed=residual is not None)
        if isinstance(r, View):
            self._whole(r, "residual")
        self._context._check(self._context._lib.compressor_reset(self._live(), r.address))

    def _reduced(self, data: Any, out: Any) -> Any:
        d, o = source(data), target(out)
        same_type(d, o)
        has(o, "out", d.count)
        arguments = (self._group._live(), self._live(), d.address, o.address, d.count, d.number, int(Operation.SUM))
        return arguments, (d, o, self)

    def allreduce(self, data: Any, out: Any, timeout: Optional[float] = None) -> bool:
        """Compressed allreduce, a sum."""
        return self._group._call("allreduce_compressed", self._reduced(data, out), timeout)

    def allreduce_start(self, data: Any, out: Any) -> Request:
        """Starts allreduce() as a request."""
        return self._group._start("allreduce_compressed", self._reduced(data, out))

    def allreduce_init(self, data: Any, out: Any) -> Request:
        """Makes a persistent request of allreduce()."""
        return self._group._start("allreduce_compressed", self._reduced(data, out), True)

    def _sent(self, data: Any, out: Any, root: int) -> Any:
        root = checks.root_of(root)
        d, o = source(data, needed=self._group.rank == root), target(out)
        if self._group.rank == root:
            same_type(d, o)
            has(d, "data", o.count)
        return (self._group._live(), self._live(), d.address, o.address, o.count, o.number, root), (d, o, self)

    def bcast(self, data: Any, out: Any, root: int = 0, timeout: Optional[float] = None) -> bool:
        """Compressed bcast of the root's data to the outs of all; elsewhere data may be None."""
        return self._group._call("bcast_compressed", self._sent(data, out, root), timeout)

    def bcast_start(self, data: Any, out: Any, root: int = 0) -> Request:
        """Starts bcast() as a request."""
        return self._group._start("bcast_compressed", self._sent(data, out, root))

    def bcast_init(self, data: Any, out: Any, root: int = 0) -> Request:
        """Makes a persistent request of bcast()."""
        return self._group._start("bcast_compressed", self._sent(data, out, root), True)


class EventualMixin:
    """What a Group has besides the collectives of ncoll.h."""

    def create_stale(self: Any, count: int, type: "AnyType", op: AnyOp = Operation.SUM, max_slack: int = 16,
                     algorithm: StaleAlgorithm = StaleAlgorithm.AUTO, clocks: bool = False, partial: bool = False,
                     timeout: Optional[float] = None) -> Any:
        """Makes clocks and mailboxes for vectors of `count` elements; collective. Returns a Stale; False after a
        time-out: call again."""
        params = _c.ncoll_stale_params(size=ctypes.sizeof(_c.ncoll_stale_params),
                                       max_slack=checks.whole(max_slack, "max_slack"),
                                       algorithm=checks.whole(algorithm, "algorithm", expected="a StaleAlgorithm"),
                                       clocks=bool(clocks), partial=bool(partial))
        count, number = checks.size(count, "count"), op_number(op)
        made = ctypes.c_void_p()

        def call(*given: Any) -> int:
            return self.context._lib.stale_create(*given[:-1], ctypes.byref(made), given[-1])

        arguments = (self._live(), ctypes.byref(params), count, type_number(type), number)
        if not self._finish(call, arguments, params, timeout):
            return False
        return Stale(self, made.value or 0, count, type_number(type), number)

    def create_compressor(self: Any, codec: Codec, count: int, type: DataType, feedback: bool = False) -> Compressor:
        """Makes a compressor for vectors of `count` elements; with `feedback` it keeps what its codec has lost, and adds
        it to the vector of the next call. Local."""
        checks.one_of(codec, Codec, "codec", "an ncoll.Codec")
        count = checks.size(count, "count")
        made = ctypes.c_void_p()
        self.context._check(self.context._lib.compressor_create(
            self._live(), ctypes.byref(codec._c), count, type_number(type), int(feedback), ctypes.byref(made)))
        self.context._kept.append(codec)  # its functions live as long as the compressor, or the context
        return Compressor(self, made.value or 0, codec, count, type_number(type))

    def _bcast_threshold(self: Any, buffer: Any, threshold: Threshold, root: int,
                         status: Optional[ThresholdStatus]) -> Any:
        b, root = target(buffer, "buffer"), checks.root_of(root)
        checks.one_of(threshold, Threshold, "threshold", "an ncoll.Threshold")
        threshold._fit(b.count, self.size, status)
        arguments = (self._live(), b.address, b.count, b.number, root, ctypes.byref(threshold._c),
                     ctypes.byref(status._c) if status is not None else None)
        return arguments, (b, threshold, status)

    def bcast_threshold(self: Any, buffer: Any, threshold: Threshold, root: int = 0,
                        status: Optional[ThresholdStatus] = None, timeout: Optional[float] = None) -> bool:
        """bcast() of a part of the data, or to a part of the ranks."""
        return self._call("bcast_threshold", self._bcast_threshold(buffer, threshold, root, status), timeout)

    def bcast_threshold_start(self: Any, buffer: Any, threshold: Threshold, root: int = 0,
                              status: Optional[ThresholdStatus] = None) -> Request:
        """Starts bcast_threshold() as a request."""
        return self._start("bcast_threshold", self._bcast_threshold(buffer, threshold, root, status))

    def bcast_threshold_init(self: Any, buffer: Any, threshold: Threshold, root: int = 0,
                             status: Optional[ThresholdStatus] = None) -> Request:
        """Makes a persistent request of bcast_threshold()."""
        return self._start("bcast_threshold", self._bcast_threshold(buffer, threshold, root, status), True)

    def _reduce_threshold(self: Any, data: Any, out: Any, threshold: Threshold, op: AnyOp, root: int,
                          status: Optional[ThresholdStatus]) -> Any:
        arguments, keep = self._to_root(data, out, op, root)
        checks.one_of(threshold, Threshold, "threshold", "an ncoll.Threshold")
        threshold._fit(arguments[3], self.size, status)
        return (*arguments, ctypes.byref(threshold._c),
                ctypes.byref(status._c) if status is not None else None), (keep, threshold, status)

    def reduce_threshold(self: Any, data: Any, out: Any, threshold: Threshold, op: AnyOp = Operation.SUM,
                         root: int = 0, status: Optional[ThresholdStatus] = None,
                         timeout: Optional[float] = None) -> bool:
        """reduce() of a part of the data, or of a part of the ranks."""
        return self._call("reduce_threshold", self._reduce_threshold(data, out, threshold, op, root, status), timeout)

    def reduce_threshold_start(self: Any, data: Any, out: Any, threshold: Threshold, op: AnyOp = Operation.SUM,
                               root: int = 0, status: Optional[ThresholdStatus] = None) -> Request:
        """Starts reduce_threshold() as a request."""
        return self._start("reduce_threshold", self._reduce_threshold(data, out, threshold, op, root, status))

    def reduce_threshold_init(self: Any, data: Any, out: Any, threshold: Threshold, op: AnyOp = Operation.SUM,
                              root: int = 0, status: Optional[ThresholdStatus] = None) -> Request:
        """Makes a persistent request of reduce_threshold()."""
        return self._start("reduce_threshold", self._reduce_threshold(data, out, threshold, op, root, status), True)
