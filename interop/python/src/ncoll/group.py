# SPDX-License-Identifier: BSD-3-Clause
"""Groups of ranks, and their collectives.

Each collective has three forms. `allreduce(..., timeout=None)` waits: as long as it takes, or at most `timeout` seconds.
It returns True when it is done and False after the time-out; then nothing is lost, and the same call with the same
arguments goes on. `allreduce_start(...)` returns a Request at once. `allreduce_init(...)` makes a persistent Request,
which is checked and planned once and started many times.

`data` is what a call reads and `out` what it writes: objects with the buffer protocol, whose elements lie one after the
other. A buffer that this rank does not need is None. data and out may be the same object.
"""
import ctypes
from typing import TYPE_CHECKING, Any, Optional, Sequence, Tuple, Union

from . import buffers
from .buffers import displacements, has, nanoseconds, numbers, reach, same_type, source, target
from .checks import root_of, whole, wholes
from .constants import NO_GROUP, Operation, Status, Sync
from .errors import of_status
from .eventual import EventualMixin
from .operations import AnyOp, op_number
from .request import Request

if TYPE_CHECKING:
    from .context import Context

Prepared = Tuple[tuple, Any]


def _earlier(now: Any, before: Any) -> Any:
    """The array of an earlier call, if it is alike."""
    alike = isinstance(now, ctypes.Array) and type(now) is type(before) and bytes(now) == bytes(before)
    return before if alike else now


class Group(EventualMixin):
    """An ordered set of ranks. In a `with` statement it is freed at the end, which is a collective of all its ranks; if
    an exception leaves the statement, it is left to its context."""

    def __init__(self, context: "Context", handle: int, owned: bool) -> None:
        self.context, self._handle, self._owned = context, ctypes.c_void_p(handle), owned
        self._unfinished: Any = None  # arguments of a call that has timed out, and what they refer to
        self.rank: int = context._lib.group_rank(handle)
        """Number of this rank in the group."""
        self.size: int = context._lib.group_size(handle)
        """Number of ranks."""

    def __repr__(self) -> str:
        return f"<ncoll group: rank {self.rank} of {self.size}>"

    def __enter__(self) -> "Group":
        return self

    def __exit__(self, kind: Any, *rest: Any) -> None:
        if kind is None and self._owned and self._handle and not self.context.closed:
            self.free()

    def _live(self) -> ctypes.c_void_p:
        self.context._open()
        if not self._handle:
            raise of_status(Status.ERR_HANDLE, "the group is freed")
        return self._handle

    # ------------------------------------------------------------------ how calls run

    def _call(self, name: str, prepared: Prepared, timeout: Optional[float]) -> bool:
        arguments, keep = prepared
        return self._finish(getattr(self.context._lib, name), arguments, keep, timeout)

    def _finish(self, function: Any, arguments: tuple, keep: Any, timeout: Optional[float]) -> bool:
        if self._unfinished is not None and len(arguments) == len(self._unfinished[0]):
            # The library knows arrays of counts by their addresses, so that the same call has to have the same arrays.
            arguments = tuple(_earlier(*pair) for pair in zip(arguments, self._unfinished[0]))
            keep = (keep, self._unfinished[1])
        if timeout is not None or not self.context.interruptible:
            return self._note(function(*arguments, nanoseconds(timeout)), arguments, keep)
        while not self._note(function(*arguments, self.context.interruptible_ns), arguments, keep):
            pass  # a KeyboardInterrupt comes between two calls
        return True

    def _note(self, status: int, arguments: tuple, keep: Any) -> bool:
        if status == Status.TIMEOUT:
            if self._unfinished is None:
                self._unfinished = arguments, keep  # the library goes on with these buffers
        elif status != Status.ERR_BUSY:
            self._unfinished = None
        return self.context._done(status)

    def _start(self, name: str, prepared: Prepared, persistent: bool = False) -> Request:
        arguments, keep = prepared
        made = ctypes.c_void_p()
        function = getattr(self.context._lib, name + ("_init" if persistent else "_start"))
        self.context._check(function(*arguments, ctypes.byref(made)))
        return Request(self.context, made.value or 0, (keep, self), persistent)

    # ------------------------------------------------------------------ groups

    def world_rank(self, rank: int) -> int:
        """World rank of a rank of the group; -1: there is none."""
        return self.context._lib.group_world_rank(self._live(), whole(rank, "rank"))

    def _make(self, name: str, arguments: tuple, timeout: Optional[float]) -> Union["Group", None, bool]:
        made = ctypes.c_void_p()
        function = getattr(self.context._lib, name)

        def call(*given: Any) -> int:
            return function(*given[:-1], ctypes.byref(made), given[-1])

        if not self._finish(call, (self._live(), *arguments), arguments, timeout):
            return False
        return Group(self.context, made.value, True) if made.value else None

    def split(self, color: Optional[int], key: int = 0, timeout: Optional[float] = None) -> Any:
        """Makes one group for each color, whose ranks are ordered by their keys. Returns the group; None on a rank whose
        color is None, which is in no new group; False after a time-out: call again."""
        color = NO_GROUP if color is None else whole(color, "color", expected="None or a whole number")
        return self._make("group_split", (color, whole(key, "key")), timeout)

    def from_ranks(self, ranks: Sequence[int], timeout: Optional[float] = None) -> Any:
        """Makes a group of some ranks, in the order of the list, which is the same on all ranks. Returns the group; None
        on ranks that are not in the list; False after a time-out: call again."""
        given = wholes(ranks, "ranks")
        listed = (ctypes.c_int * max(len(given), 1))(*given)
        return self._make("group_from_ranks", (listed, len(given)), timeout)

    def dup(self, timeout: Optional[float] = None) -> Any:
        """Makes a group of the same ranks. Returns it; False after a time-out: call again."""
        return self._make("group_dup", (), timeout)

    def free(self, timeout: Optional[float] = None) -> bool:
        """Frees the group: its last collective, on all its ranks."""
        self._live()
        return self.context._done(self.context._lib.group_free(ctypes.byref(self._handle), nanoseconds(timeout)))

    @property
    def sync(self) -> Sync:
        """How far later collectives synchronise: LOOSE, STRICT_ENTRY, STRICT_EXIT or STRICT; the same on all ranks."""
        return Sync(self.context._lib.group_sync(self._live()))

    @sync.setter
    def sync(self, value: int) -> None:
        mode = whole(value, "sync", 0, 2**32 - 1, "LOOSE, STRICT_ENTRY, STRICT_EXIT or STRICT")
        self.context._check(self.context._lib.group_set_sync(self._live(), mode))

    # ------------------------------------------------------------------ barrier

    def barrier(self, timeout: Optional[float] = None) -> bool:
        """Returns when all ranks have entered it."""
        return self._call("barrier", ((self._live(),), None), timeout)

    def barrier_start(self) -> Request:
        """Starts barrier() as a request."""
        return self._start("barrier", ((self._live(),), None))

    def barrier_init(self) -> Request:
        """Makes a persistent request of barrier()."""
        return self._start("barrier", ((self._live(),), None), True)

    # ------------------------------------------------------------------ reductions

    def _elementwise(self, data: Any, out: Any, op: AnyOp) -> Prepared:
        d, o = source(data), target(out)
        same_type(d, o)
        has(o, "out", d.count)
        return (self._live(), d.address, o.address, d.count, d.number, op_number(op, d.is_bool)), (d, o)

    def allreduce(self, data: Any, out: Any, op: AnyOp = Operation.SUM, timeout: Optional[float] = None) -> bool:
        """out[i] = data[i] of rank 0, op data[i] of rank 1, .., on every rank."""
        return self._call("allreduce", self._elementwise(data, out, op), timeout)

    def allreduce_start(self, data: Any, out: Any, op: AnyOp = Operation.SUM) -> Request:
        """Starts allreduce() as a request."""
        return self._start("allreduce", self._elementwise(data, out, op))

    def allreduce_init(self, data: Any, out: Any, op: AnyOp = Operation.SUM) -> Request:
        """Makes a persistent request of allreduce()."""
        return self._start("allreduce", self._elementwise(data, out, op), True)

    def scan(self, data: Any, out: Any, op: AnyOp = Operation.SUM, timeout: Optional[float] = None) -> bool:
        """Inclusive prefix: out[i] = data[i] of rank 0, op .., up to this rank."""
        return self._call("scan", self._elementwise(data, out, op), timeout)

    def scan_start(self, data: Any, out: Any, op: AnyOp = Operation.SUM) -> Request:
        """Starts scan() as a request."""
        return self._start("scan", self._elementwise(data, out, op))

    def scan_init(self, data: Any, out: Any, op: AnyOp = Operation.SUM) -> Request:
        """Makes a persistent request of scan()."""
        return self._start("scan", self._elementwise(data, out, op), True)

    def exscan(self, data: Any, out: Any, op: AnyOp = Operation.SUM, timeout: Optional[float] = None) -> bool:
        """Exclusive prefix: out[i] = data[i] of rank 0, op .., up to the rank before this one; on rank 0 out stays."""
        return self._call("exscan", self._elementwise(data, out, op), timeout)

    def exscan_start(self, data: Any, out: Any, op: AnyOp = Operation.SUM) -> Request:
        """Starts exscan() as a request."""
        return self._start("exscan", self._elementwise(data, out, op))

    def exscan_init(self, data: Any, out: Any, op: AnyOp = Operation.SUM) -> Request:
        """Makes a persistent request of exscan()."""
        return self._start("exscan", self._elementwise(data, out, op), True)

    def _to_root(self, data: Any, out: Any, op: AnyOp, root: int) -> Prepared:
        root = root_of(root)
        d, o = source(data), target(out, needed=self.rank == root)
        if self.rank == root:
            same_type(d, o)
            has(o, "out", d.count)
        return (self._live(), d.address, o.address, d.count, d.number, op_number(op, d.is_bool), root), (d, o)

    def reduce(self, data: Any, out: Any, op: AnyOp = Operation.SUM, root: int = 0,
               timeout: Optional[float] = None) -> bool:
        """What allreduce() gives, on the root only; elsewhere out may be None."""
        return self._call("reduce", self._to_root(data, out, op, root), timeout)

    def reduce_start(self, data: Any, out: Any, op: AnyOp = Operation.SUM, root: int = 0) -> Request:
        """Starts reduce() as a request."""
        return self._start("reduce", self._to_root(data, out, op, root))

    def reduce_init(self, data: Any, out: Any, op: AnyOp = Operation.SUM, root: int = 0) -> Request:
        """Makes a persistent request of reduce()."""
        return self._start("reduce", self._to_root(data, out, op, root), True)

    def _slices(self, data: Any, out: Any, counts: Sequence[int], op: AnyOp) -> Prepared:
        d, o = source(data), target(out)
        c = numbers(counts, self.size, "counts")
        same_type(d, o)
        has(d, "data", sum(c))
        has(o, "out", c[self.rank], exactly=data is not out)
        return (self._live(), d.address, o.address, c, d.number, op_number(op, d.is_bool)), (d, o, c)

    def reduce_scatter(self, data: Any, out: Any, counts: Sequence[int], op: AnyOp = Operation.SUM,
                       timeout: Optional[float] = None) -> bool:
        """Rank p's out is block p of what allreduce() would give; block q has counts[q] elements."""
        return self._call("reduce_scatter", self._slices(data, out, counts, op), timeout)

    def reduce_scatter_start(self, data: Any, out: Any, counts: Sequence[int], op: AnyOp = Operation.SUM) -> Request:
        """Starts reduce_scatter() as a request."""
        return self._start("reduce_scatter", self._slices(data, out, counts, op))

    def reduce_scatter_init(self, data: Any, out: Any, counts: Sequence[int], op: AnyOp = Operation.SUM) -> Request:
        """Makes a persistent request of reduce_scatter()."""
        return self._start("reduce_scatter", self._slices(data, out, counts, op), True)

    def _even_slices(self, data: Any, out: Any, op: AnyOp) -> Prepared:
        d, o = source(data), target(out)
        same_type(d, o)
        has(d, "data", o.count * self.size)
        return (self._live(), d.address, o.address, o.count, d.number, op_number(op, d.is_bool)), (d, o)

    def reduce_scatter_block(self, data: Any, out: Any, op: AnyOp = Operation.SUM,
                             timeout: Optional[float] = None) -> bool:
        """reduce_scatter() with blocks of one size: data has as many elements as the outs of all ranks."""
        return self._call("reduce_scatter_block", self._even_slices(data, out, op), timeout)

    def reduce_scatter_block_start(self, data: Any, out: Any, op: AnyOp = Operation.SUM) -> Request:
        """Starts reduce_scatter_block() as a request."""
        return self._start("reduce_scatter_block", self._even_slices(data, out, op))

    def reduce_scatter_block_init(self, data: Any, out: Any, op: AnyOp = Operation.SUM) -> Request:
        """Makes a persistent request of reduce_scatter_block()."""
        return self._start("reduce_scatter_block", self._even_slices(data, out, op), True)

    # ------------------------------------------------------------------ data from and to one rank

    def _cast(self, buffer: Any, root: int) -> Prepared:
        root = root_of(root)
        b = source(buffer, "buffer") if self.rank == root else target(buffer, "buffer")
        return (self._live(), b.address, b.count, b.number, root), b

    def bcast(self, buffer: Any, root: int = 0, timeout: Optional[float] = None) -> bool:
        """Copies the root's buffer to the buffers of all others."""
        return self._call("bcast", self._cast(buffer, root), timeout)

    def bcast_start(self, buffer: Any, root: int = 0) -> Request:
        """Starts bcast() as a request."""
        return self._start("bcast", self._cast(buffer, root))

    def bcast_init(self, buffer: Any, root: int = 0) -> Request:
        """Makes a persistent request of bcast()."""
        return self._start("bcast", self._cast(buffer, root), True)

    def _gathered(self, data: Any, out: Any, root: int) -> Prepared:
        root = root_of(root)
        d, o = source(data), target(out, needed=self.rank == root)
        if self.rank == root:
            same_type(d, o)
            has(o, "out", d.count * self.size)
        return (self._live(), d.address, o.address, d.count, d.number, root), (d, o)

    def gather(self, data: Any, out: Any, root: int = 0, timeout: Optional[float] = None) -> bool:
        """Block q of the root's out is rank q's data; elsewhere out may be None."""
        return self._call("gather", self._gathered(data, out, root), timeout)

    def gather_start(self, data: Any, out: Any, root: int = 0) -> Request:
        """Starts gather() as a request."""
        return self._start("gather", self._gathered(data, out, root))

    def gather_init(self, data: Any, out: Any, root: int = 0) -> Request:
        """Makes a persistent request of gather()."""
        return self._start("gather", self._gathered(data, out, root), True)

    def _unevenly(self, whole: buffers.AnyView, part: buffers.AnyView, needed: bool, counts: Sequence[int],
                  displs: Optional[Sequence[int]], names: Tuple[str, str]) -> Tuple[Any, Any]:
        c, s = numbers(counts, self.size, "counts"), displacements(displs, self.size, "displs")
        has(part, names[1], c[self.rank])
        if needed:
            same_type(part, whole)
            has(whole, names[0], reach(c, s), exactly=False)
        return c, s

    def _gathered_v(self, data: Any, out: Any, counts: Sequence[int], displs: Optional[Sequence[int]],
                    root: int) -> Prepared:
        root = root_of(root)
        d, o = source(data), target(out, needed=self.rank == root)
        c, s = self._unevenly(o, d, self.rank == root, counts, displs, ("out", "data"))
        return (self._live(), d.address, o.address, c, s, d.number, root), (d, o, c, s)

    def gatherv(self, data: Any, out: Any, counts: Sequence[int], displs: Optional[Sequence[int]] = None, root: int = 0,
                timeout: Optional[float] = None) -> bool:
        """gather() with blocks of different sizes: block q has counts[q] elements, and starts at element displs[q]; None:
        one after the other."""
        return self._call("gatherv", self._gathered_v(data, out, counts, displs, root), timeout)

    def gatherv_start(self, data: Any, out: Any, counts: Sequence[int], displs: Optional[Sequence[int]] = None,
                      root: int = 0) -> Request:
        """Starts gatherv() as a request."""
        return self._start("gatherv", self._gathered_v(data, out, counts, displs, root))

    def gatherv_init(self, data: Any, out: Any, counts: Sequence[int], displs: Optional[Sequence[int]] = None,
                     root: int = 0) -> Request:
        """Makes a persistent request of gatherv()."""
        return self._start("gatherv", self._gathered_v(data, out, counts, displs, root), True)

    def _scattered(self, data: Any, out: Any, root: int) -> Prepared:
        root = root_of(root)
        d, o = source(data, needed=self.rank == root), target(out)
        if self.rank == root:
            same_type(d, o)
            has(d, "data", o.count * self.size)
        return (self._live(), d.address, o.address, o.count, o.number, root), (d, o)

    def scatter(self, data: Any, out: Any, root: int = 0, timeout: Optional[float] = None) -> bool:
        """Rank q's out is block q of the root's data; elsewhere data may be None."""
        return self._call("scatter", self._scattered(data, out, root), timeout)

    def scatter_start(self, data: Any, out: Any, root: int = 0) -> Request:
        """Starts scatter() as a request."""
        return self._start("scatter", self._scattered(data, out, root))

    def scatter_init(self, data: Any, out: Any, root: int = 0) -> Request:
        """Makes a persistent request of scatter()."""
        return self._start("scatter", self._scattered(data, out, root), True)

    def _scattered_v(self, data: Any, counts: Sequence[int], displs: Optional[Sequence[int]], out: Any,
                     root: int) -> Prepared:
        root = root_of(root)
        d, o = source(data, needed=self.rank == root), target(out)
        c, s = self._unevenly(d, o, self.rank == root, counts, displs, ("data", "out"))
        return (self._live(), d.address, c, s, o.address, o.number, root), (d, o, c, s)

    def scatterv(self, data: Any, out: Any, counts: Sequence[int], displs: Optional[Sequence[int]] = None,
                 root: int = 0, timeout: Optional[float] = None) -> bool:
        """scatter() with blocks of different sizes: see gatherv()."""
        return self._call("scatterv", self._scattered_v(data, counts, displs, out, root), timeout)

    def scatterv_start(self, data: Any, out: Any, counts: Sequence[int], displs: Optional[Sequence[int]] = None,
                       root: int = 0) -> Request:
        """Starts scatterv() as a request."""
        return self._start("scatterv", self._scattered_v(data, counts, displs, out, root))

    def scatterv_init(self, data: Any, out: Any, counts: Sequence[int], displs: Optional[Sequence[int]] = None,
                      root: int = 0) -> Request:
        """Makes a persistent request of scatterv()."""
        return self._start("scatterv", self._scattered_v(data, counts, displs, out, root), True)

    # ------------------------------------------------------------------ data from all to all

    def _all_gathered(self, data: Any, out: Any) -> Prepared:
        d, o = source(data), target(out)
        same_type(d, o)
        has(o, "out", d.count * self.size)
        return (self._live(), d.address, o.address, d.count, d.number), (d, o)

    def allgather(self, data: Any, out: Any, timeout: Optional[float] = None) -> bool:
        """Block q of every rank's out is rank q's data."""
        return self._call("allgather", self._all_gathered(data, out), timeout)

    def allgather_start(self, data: Any, out: Any) -> Request:
        """Starts allgather() as a request."""
        return self._start("allgather", self._all_gathered(data, out))

    def allgather_init(self, data: Any, out: Any) -> Request:
        """Makes a persistent request of allgather()."""
        return self._start("allgather", self._all_gathered(data, out), True)

    def _all_gathered_v(self, data: Any, out: Any, counts: Sequence[int], displs: Optional[Sequence[int]]) -> Prepared:
        d, o = source(data), target(out)
        c, s = self._unevenly(o, d, True, counts, displs, ("out", "data"))
        return (self._live(), d.address, o.address, c, s, d.number), (d, o, c, s)

    def allgatherv(self, data: Any, out: Any, counts: Sequence[int], displs: Optional[Sequence[int]] = None,
                   timeout: Optional[float] = None) -> bool:
        """allgather() with blocks of different sizes: see gatherv()."""
        return self._call("allgatherv", self._all_gathered_v(data, out, counts, displs), timeout)

    def allgatherv_start(self, data: Any, out: Any, counts: Sequence[int],
                         displs: Optional[Sequence[int]] = None) -> Request:
        """Starts allgatherv() as a request."""
        return self._start("allgatherv", self._all_gathered_v(data, out, counts, displs))

    def allgatherv_init(self, data: Any, out: Any, counts: Sequence[int],
                        displs: Optional[Sequence[int]] = None) -> Request:
        """Makes a persistent request of allgatherv()."""
        return self._start("allgatherv", self._all_gathered_v(data, out, counts, displs), True)

    def _exchanged(self, data: Any, out: Any) -> Prepared:
        d, o = source(data), target(out)
        same_type(d, o)
        has(o, "out", d.count)
        if d.count % self.size:
            raise ValueError(f"data has {d.count} elements, which is no multiple of the {self.size} ranks")
        return (self._live(), d.address, o.address, d.count // self.size, d.number), (d, o)

    def alltoall(self, data: Any, out: Any, timeout: Optional[float] = None) -> bool:
        """Block q of rank p's out is block p of rank q's data."""
        return self._call("alltoall", self._exchanged(data, out), timeout)

    def alltoall_start(self, data: Any, out: Any) -> Request:
        """Starts alltoall() as a request."""
        return self._start("alltoall", self._exchanged(data, out))

    def alltoall_init(self, data: Any, out: Any) -> Request:
        """Makes a persistent request of alltoall()."""
        return self._start("alltoall", self._exchanged(data, out), True)

    def _exchanged_v(self, data: Any, data_counts: Sequence[int], out: Any, out_counts: Sequence[int],
                     data_displs: Optional[Sequence[int]], out_displs: Optional[Sequence[int]]) -> Prepared:
        d, o = source(data), target(out)
        dc, oc = numbers(data_counts, self.size, "data_counts"), numbers(out_counts, self.size, "out_counts")
        ds, os = displacements(data_displs, self.size, "data_displs"), displacements(out_displs, self.size, "out_displs")
        same_type(d, o)
        has(d, "data", reach(dc, ds), exactly=False)
        has(o, "out", reach(oc, os), exactly=False)
        return (self._live(), d.address, dc, ds, o.address, oc, os, d.number), (d, o, dc, ds, oc, os)

    def alltoallv(self, data: Any, data_counts: Sequence[int], out: Any, out_counts: Sequence[int],
                  data_displs: Optional[Sequence[int]] = None, out_displs: Optional[Sequence[int]] = None,
                  timeout: Optional[float] = None) -> bool:
        """alltoall() with blocks of different sizes: data_counts[q] elements go to rank q, and out_counts[q] come from
        it."""
        return self._call("alltoallv", self._exchanged_v(data, data_counts, out, out_counts, data_displs, out_displs),
                          timeout)

    def alltoallv_start(self, data: Any, data_counts: Sequence[int], out: Any, out_counts: Sequence[int],
                        data_displs: Optional[Sequence[int]] = None,
                        out_displs: Optional[Sequence[int]] = None) -> Request:
        """Starts alltoallv() as a request."""
        return self._start("alltoallv", self._exchanged_v(data, data_counts, out, out_counts, data_displs, out_displs))

    def alltoallv_init(self, data: Any, data_counts: Sequence[int], out: Any, out_counts: Sequence[int],
                       data_displs: Optional[Sequence[int]] = None,
                       out_displs: Optional[Sequence[int]] = None) -> Request:
        """Makes a persistent request of alltoallv()."""
        return self._start("alltoallv", self._exchanged_v(data, data_counts, out, out_counts, data_displs, out_displs),
                           True)
