#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""python_calls [--seed S]: every call of the Python package, in its four forms, on 1, 2 and 4 forked ranks, with random
data from a seed. With NumPy, and once more without it if it is there."""
import argparse
import array
import random
import selectors
import sys
import threading
import time

import ncoll
from ncoll import buffers

try:
    import numpy as np
except ImportError:
    np = None

checks = 0


def expect(good, what=""):
    global checks
    checks += 1
    if not good:
        raise AssertionError(what)


def expect_raises(kind, function, *arguments, **keywords):
    try:
        function(*arguments, **keywords)
    except kind as error:
        return error
    raise AssertionError(f"{function} does not raise {kind}")


def four(group, name, arguments, spoil, right, **keywords):
    """A collective in its four forms: each must give what `right` accepts."""
    call, start, init = (getattr(group, name + form) for form in ("", "_start", "_init"))
    spoil()
    expect(call(*arguments, **keywords))
    right()
    for timeout in (0, 0.001):
        spoil()
        while not call(*arguments, timeout=timeout, **keywords):
            pass
        right()
    spoil()
    request = start(*arguments, **keywords)
    while not request.test():
        pass
    expect(request.over and request.wait() and not request.persistent)
    right()
    spoil()
    with start(*arguments, **keywords):
        pass
    right()
    with init(*arguments, **keywords) as request:
        expect(request.persistent)
        for _ in range(2):
            spoil()
            request.start()
            while not request.wait(0.001):
                pass
            right()
    expect(request.over)


class Data:
    """Numbers of a type in a buffer, with NumPy or without. All ranks can tell those of the others."""

    def __init__(self, seed, code):
        self.seed, self.code = seed, code

    def of(self, rank, n):
        numbers = random.Random(self.seed * 1000 + rank)
        return [numbers.randrange(-100 if self.code in "bhilqfd" else 0, 10) for _ in range(n)]

    def buffer(self, numbers):
        if np is not None and self.seed % 2:
            return np.array(numbers, dtype=self.code)
        return array.array(self.code, numbers)

    def mine(self, job, n):
        return self.buffer(self.of(job.rank, n))

    def blank(self, n):
        return self.buffer([7] * n)


def fill(buffer, numbers):
    for i, x in enumerate(numbers):
        buffer[i] = x


def is_(buffer, numbers):
    expect(list(buffer) == list(numbers), f"{list(buffer)} is not {list(numbers)}")


def collectives(job, seed):
    world, p, me = job.world, job.size, job.rank
    rng = random.Random(seed)
    data = Data(seed, rng.choice("hilqfd"))
    n = rng.randrange(0, 50)
    every = [data.of(r, n) for r in range(p)]
    mine, out = data.mine(job, n), data.blank(n)
    blank = [7] * n

    def spoil():
        fill(out, blank)

    sums = [sum(column) for column in zip(*every)] if n else []
    four(world, "allreduce", (mine, out), spoil, lambda: is_(out, sums))
    four(world, "allreduce", (mine, out, ncoll.MAX), spoil, lambda: is_(out, [max(c) for c in zip(*every)]))
    prefix = [sum(c) for c in zip(*every[:me + 1])]
    four(world, "scan", (mine, out), spoil, lambda: is_(out, prefix))
    before = [sum(c) for c in zip(*every[:me])] if me else blank
    four(world, "exscan", (mine, out), spoil, lambda: is_(out, before))
    for root in range(p):
        at_root = me == root
        four(world, "reduce", (mine, out if at_root else None, ncoll.SUM, root), spoil,
             lambda: is_(out, sums if at_root else blank))
        both = data.blank(n)
        four(world, "bcast", (both, root), lambda: fill(both, every[me] if at_root else blank),
             lambda: is_(both, every[root]))
        whole = data.blank(n * p)
        joined = [x for row in every for x in row]
        four(world, "gather", (mine, whole if at_root else None, root), lambda: fill(whole, [7] * (n * p)),
             lambda: is_(whole, joined if at_root else [7] * (n * p)))
        four(world, "scatter", (data.buffer(joined) if at_root else None, out, root), spoil, lambda: is_(out, every[me]))
    four(world, "allgather", (mine, whole), lambda: fill(whole, [7] * (n * p)), lambda: is_(whole, joined))

    rows = [data.of(r, 3 * p) for r in range(p)]
    got = data.blank(3 * p)
    four(world, "alltoall", (data.buffer(rows[me]), got), lambda: fill(got, [7] * (3 * p)),
         lambda: is_(got, [x for row in rows for x in row[3 * me:3 * me + 3]]))
    three = data.blank(3)
    total = [sum(c) for c in zip(*rows)]
    four(world, "reduce_scatter_block", (data.buffer(rows[me]), three), lambda: fill(three, [7] * 3),
         lambda: is_(three, total[3 * me:3 * me + 3]))
    four(world, "barrier", (), lambda: None, lambda: None)


def with_counts(job, seed):
    world, p, me = job.world, job.size, job.rank
    rng = random.Random(seed)
    data = Data(seed, rng.choice("ld"))
    counts = [rng.randrange(0, 9) for _ in range(p)]
    order = list(range(p))
    rng.shuffle(order)
    displs, end = [0] * p, 2
    for r in order:  # blocks in any order, with a gap after each
        displs[r] = end
        end += counts[r] + 1
    every = [data.of(r, counts[r]) for r in range(p)]
    mine = data.buffer(every[me])
    for places in (None, displs):
        size = sum(counts) if places is None else end
        whole = data.blank(size)
        want = [7] * size
        for r in range(p):
            at = sum(counts[:r]) if places is None else places[r]
            want[at:at + counts[r]] = every[r]
        four(world, "allgatherv", (mine, whole, counts, places), lambda: fill(whole, [7] * size),
             lambda: is_(whole, want))
        for root in range(p):
            at_root = me == root
            four(world, "gatherv", (mine, whole if at_root else None, counts, places, root),
                 lambda: fill(whole, [7] * size), lambda: is_(whole, want if at_root else [7] * size))
            out = data.blank(counts[me])
            four(world, "scatterv", (data.buffer(want) if at_root else None, out, counts, places, root),
                 lambda: fill(out, [7] * counts[me]), lambda: is_(out, every[me]))
    # To rank q go counts[q] elements of everybody.
    sent = [data.of(50 + r, sum(counts)) for r in range(p)]
    at = sum(counts[:me])
    got = data.blank(counts[me] * p)
    four(world, "alltoallv", (data.buffer(sent[me]), counts, got, [counts[me]] * p),
         lambda: fill(got, [7] * (counts[me] * p)), lambda: is_(got, [x for s in sent for x in s[at:at + counts[me]]]))
    backwards = [(p - 1 - r) * counts[me] for r in range(p)]
    four(world, "alltoallv", (data.buffer(sent[me]), counts, got, [counts[me]] * p, None, backwards),
         lambda: fill(got, [7] * (counts[me] * p)),
         lambda: is_(got, [x for s in reversed(sent) for x in s[at:at + counts[me]]]))
    part = data.blank(counts[me])
    total = [sum(c) for c in zip(*sent)]
    four(world, "reduce_scatter", (data.buffer(sent[me]), part, counts), lambda: fill(part, [7] * counts[me]),
         lambda: is_(part, total[at:at + counts[me]]))


def types_and_buffers(job):
    world, p = job.world, job.size
    for code in "bBhHiIlLqQfd":
        out = array.array(code, [0, 0])
        world.allreduce(array.array(code, [1, 2]), out)
        is_(out, [p, 2 * p])
    text = bytearray(b"to all" if job.rank == 0 else b"......")
    world.bcast(text)
    expect(text == b"to all")
    world.bcast(b"from bytes" if job.rank == 0 else memoryview(bytearray(10)))  # the root's may be read-only
    numbers = array.array("d", range(8))
    world.allreduce(memoryview(numbers)[2:5], memoryview(numbers)[2:5])  # in place, a part
    is_(numbers, [0, 1, 2 * p, 3 * p, 4 * p, 5, 6, 7])
    expect_raises(BufferError, world.allreduce, b"12345678", b"12345678")
    expect_raises(BufferError, world.allreduce, memoryview(bytes(8))[::2], bytearray(4))
    expect_raises(TypeError, world.allreduce, [1, 2], [1, 2])
    expect_raises(TypeError, world.allreduce, array.array("d", [1]), array.array("f", [1]))
    expect_raises(ValueError, world.allreduce, array.array("d", [1]), array.array("d", [1, 2]))
    expect_raises(ValueError, world.allgatherv, numbers, numbers, [1] * (p + 1))
    expect_raises(ValueError, world.allgatherv, numbers, numbers, [-1] * p)
    expect_raises(ValueError, world.barrier, timeout=-1)
    expect_raises(ValueError, world.barrier, timeout=float("nan"))
    for wrong in ("x", [1], {}, object()):
        said = expect_raises(TypeError, world.barrier, timeout=wrong)
        assert "number of seconds" in str(said), said
    pair = array.array("q", [job.rank, job.rank])
    world.allreduce(ncoll.typed(pair, ncoll.INT64_INT64), ncoll.typed(pair, ncoll.INT64_INT64), ncoll.MAXLOC)
    is_(pair, [p - 1, p - 1])
    if np is None:
        return
    for dtype in ("i1", "u2", "i4", "u8", "f2", "f4", "f8", "g", "c8", "c16"):
        x, y = np.arange(6, dtype=dtype).reshape(2, 3), np.zeros((2, 3), dtype)
        world.allreduce(x, y)
        expect((y == x * p).all(), dtype)
    flags, any_ = np.array([job.rank == 0, False]), np.array([False, True])
    world.allreduce(flags, any_, ncoll.LOR)
    expect(any_.tolist() == [True, False])
    expect_raises(TypeError, world.allreduce, flags, any_)
    scalar = np.array(1.5)
    world.allreduce(scalar, scalar)
    expect(scalar == 1.5 * p)
    half = np.array([0x3f80], "u2")
    world.allreduce(ncoll.typed(half, ncoll.BFLOAT16), ncoll.typed(half, ncoll.BFLOAT16), ncoll.PROD)
    expect(half[0] == 0x3f80)
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    world.allreduce(frozen, np.zeros(3))
    expect("read-only" in str(expect_raises(BufferError, world.allreduce, np.zeros(3), frozen)))
    expect("one after the other" in str(expect_raises(BufferError, world.allreduce, np.zeros(6)[::2], np.zeros(3))))
    expect_raises(TypeError, world.allreduce, np.zeros(2, ">f8"), np.zeros(2, ">f8"))
    expect_raises(TypeError, world.allreduce, np.array(["a"]), np.array(["a"]))


def own_types_and_operations(job):
    world, p = job.world, job.size
    three = job.create_type(3, "three bytes")
    out = bytearray(3 * p)
    world.allgather(ncoll.typed(bytes([job.rank] * 3), three), ncoll.typed(out, three))
    expect(out == b"".join(bytes([r] * 3) for r in range(p)))
    expect(job.type_size(three) == 3 and ncoll.type_size(ncoll.DOUBLE) == 8)

    concatenated = job.create_op(lambda a, b: [10 * x + y for x, y in zip(a, b)])  # of digits; does not commute
    digit, number = array.array("q", [job.rank + 1]), array.array("q", [0])
    # It is associative only for one digit on the right, so a scan by hand: rank order is what is tested.
    first = job.create_op(lambda a, b: a)
    last = job.create_op(lambda a, b: list(b), name="last")
    world.allreduce(digit, number, first)
    is_(number, [1])
    world.allreduce(digit, number, last)
    is_(number, [p])
    expect("operation" in repr(concatenated))
    add = job.create_op(lambda a, b: [x + y for x, y in zip(a, b)], commutative=True,
                        inverse=lambda ab, b: [x - y for x, y in zip(ab, b)])
    world.allreduce(digit, number, add)
    is_(number, [p * (p + 1) // 2])
    if np is not None:
        dtype = np.dtype([("n", "i8"), ("mean", "f8")])
        moments = job.create_type(dtype, "moments")

        def merge(a, b):
            c = np.empty_like(a)
            c["n"] = a["n"] + b["n"]
            c["mean"] = (a["n"] * a["mean"] + b["n"] * b["mean"]) / c["n"]
            return c

        op = job.create_op(merge, commutative=True, name="merge")
        mine = np.array([(1, job.rank), (2, 1.0)], dtype)
        out = np.zeros(2, dtype)
        world.allreduce(ncoll.typed(mine, moments), ncoll.typed(out, moments), op)
        expect(out["n"].tolist() == [p, 2 * p] and abs(out["mean"][0] - (p - 1) / 2) < 1e-12)
        largest = job.create_op(np.maximum, commutative=True, idempotent=True)
        big = np.zeros(5000)
        world.allreduce(np.full(5000, float(job.rank)), big, largest)
        expect((big == p - 1).all())

    # An exception comes out of the call of the rank where it was; the group goes on.
    def bad(a, b):
        raise KeyError("on purpose")

    threw = array.array("i", [0])
    try:
        world.allreduce(digit, number, job.create_op(bad, commutative=True))
    except KeyError:
        threw[0] = 1
    world.allreduce(threw, threw, ncoll.MAX)
    is_(threw, [1 if p > 1 else 0])
    try:
        world.allreduce(digit, number, job.create_op(lambda a, b: [], commutative=True))
    except ValueError:
        threw[0] = 2
    world.allreduce(threw, threw, ncoll.MAX)
    is_(threw, [2 if p > 1 else 0])


def groups_and_requests(job):
    world, p = job.world, job.size
    with world.split(job.rank % 2, -job.rank) as half:
        expect(half.size == (p + 1 - job.rank % 2) // 2 and half.world_rank(half.rank) == job.rank)
        expect(half.world_rank(half.size) == -1)
        one = array.array("i", [1])
        half.allreduce(one, one)
        is_(one, [half.size])
    expect_raises(ncoll.HandleError, half.barrier)
    none = world.split(None if job.rank else 3)
    expect((none is None) == (job.rank != 0))
    last = False
    while last is False:
        last = world.from_ranks([p - 1], timeout=0.001)
    expect((last is None) == (job.rank != p - 1))
    copy = world.dup()
    copy.sync = ncoll.STRICT
    expect(copy.sync == ncoll.STRICT)
    copy.barrier()
    while not copy.free(0.001):
        pass
    expect(expect_raises(ncoll.ArgumentError, world.free).status == ncoll.ERR_ARGUMENT)

    outs = [array.array("i", [0]) for _ in range(5)]
    requests = [world.allreduce_start(array.array("i", [i]), out) for i, out in enumerate(outs)]  # data is kept
    expect(ncoll.wait_all(requests))
    expect([out[0] for out in outs] == [i * p for i in range(5)])
    expect(ncoll.wait_all(requests, 0) and ncoll.wait_any(requests) is None and ncoll.wait_some([]) == [])
    requests = [world.barrier_start() for _ in range(20)]
    ended = set()
    while len(ended) < 10:
        i = ncoll.wait_any(requests, 0.01)
        if i is not None:
            ended.add(i)
    while len(ended) < 20:
        ended.update(ncoll.wait_some(requests, 0.01))
    expect(ended == set(range(20)) and all(r.over for r in requests))
    expect_raises(ncoll.HandleError, requests[0].start)

    # A buffer that nobody refers to any more stays until the request is over.
    world.barrier()
    if job.rank == 0:
        time.sleep(0.01)
    world.allreduce_start(array.array("d", [1.0] * 5000), array.array("d", [0.0] * 5000))
    expect(len(job._requests) <= 1)
    world.barrier()
    for request in list(job._requests):
        request.wait()
    expect(not job._requests)
    expect_raises(BufferError, lambda: _resize_started(world))


def _resize_started(world):
    data = array.array("d", [1.0])
    with world.allreduce_init(data, array.array("d", [0.0])):
        data.append(2.0)  # it is exported, so that its memory cannot move


def the_rest(job):
    world, p = job.world, job.size
    with job.alloc(80000) as memory:
        view = memory.view("d")
        for i in (0, 9999):
            view[i] = 1.0
        world.allreduce(view, view)
        expect(view[0] == p and view[9999] == p and view[5] == 0)
        if np is not None:
            expect(memory.array("f8")[9999] == p)
        expect(job.stats()["user_bytes"] >= 80000)
        view.release()
    expect_raises(ncoll.HandleError, memory.view)
    own = bytearray(1000)
    with job.register(own):
        expect_raises(ncoll.ArgumentError, job.register, own)
        world.bcast(own)
    with job.register(own):
        pass
    expect(job.stats()["user_bytes"] == 0 and job.stats()["ranks"] == p and job.stats()["transport"])
    expect("rank" in job.describe() and job.progress() >= 0)
    begun, ended = [], []
    job.set_hooks(begun.append, lambda call, status: ended.append((call, status)))
    world.bcast(own)
    expect(len(begun) == 1 and len(ended) == 1 and begun[0].id == ended[0][0].id and ended[0][1] == ncoll.OK)
    expect(begun[0].name == "bcast" and begun[0].kind == ncoll.CALL_BCAST and begun[0].mode == ncoll.MODE_TIMEOUT)
    expect(begun[0].in_bytes + begun[0].out_bytes == len(own) and begun[0].ranks == p and begun[0].root == 0)
    job.set_hooks(end=lambda call, status: 1 // 0)
    expect_raises(ZeroDivisionError, world.barrier)
    job.set_hooks()
    world.barrier()
    expect(len(begun) == 1 and len(ended) == 1)
    error = expect_raises(ncoll.ArgumentError, world.bcast, own, p)
    expect(error.rank == job.rank and error.peer == -1 and error.cause and str(error).find(error.cause) >= 0)
    expect(isinstance(error, ValueError) and job.last_error.status == ncoll.ERR_ARGUMENT)
    # Rank 0 comes when all others have waited in vain, which they tell it by a barrier of another group.
    with world.dup() as other:
        if job.rank != 0:
            expect(world.barrier(0.001) is False)
            expect_raises(ncoll.BusyError, world.bcast, own)
        other.barrier()
        expect(world.barrier())


def sleeping(job):
    """A barrier in a loop of the program's own."""
    with selectors.DefaultSelector() as loop:
        loop.register(job, selectors.EVENT_READ)
        for _ in range(20):
            request = job.world.barrier_start()
            while not request.test():
                if job.arm():
                    expect(loop.select(60))


def eventual(job):
    world, p = job.world, job.size
    n = 10
    ones, out = array.array("d", [1.0] * n), array.array("d", [0.0] * n)
    with world.create_stale(n, ncoll.DOUBLE, max_slack=4, clocks=True) as stale:
        result = stale.result()
        four(stale, "allreduce", (ones, out, 0, result), lambda: fill(out, [0] * n), lambda: is_(out, [p] * n))
        for call in range(8, 14):
            stale.allreduce(ones, out, 4, result)
            is_(out, [p] * n)
            expect(result.min_clock + 4 >= result.clock and len(result.clocks) == p and result.waited >= 0)
        expect_raises(ncoll.ArgumentError, stale.allreduce, ones, out, 5)
    expect_raises(ncoll.HandleError, stale.allreduce, ones, out, 0)
    partial = False
    while partial is False:
        partial = world.create_stale(n, ncoll.DOUBLE, partial=True, timeout=0.001)
    total = []
    four(partial, "allreduce_partial", (ones, out, ncoll.SOLO), lambda: None, lambda: total.append(out[0]))
    partial.allreduce_partial(ones, out, p)
    expect(sum(total) + out[0] == p * (len(total) + 1))
    while not partial.free(0.001):
        pass

    x = array.array("d", [0.0] * 8)
    status = ncoll.ThresholdStatus(elements=8, ranks=p)
    start = [float(job.rank == 0)] * 8

    def quarter_is_in():
        is_(x, [1, 1] + start[2:])
        expect(status.elements == 2 and status.element_in == [True] * 2 + [False] * 6)

    four(world, "bcast_threshold", (x, ncoll.Threshold(0.25), 0, status), lambda: fill(x, start), quarter_is_in)
    world.bcast_threshold(x, ncoll.Threshold(1, after=status), status=status)
    is_(x, [1] * 8)
    y = array.array("d", [-1.0] * 8)
    heaviest = ncoll.Threshold(0.5, ncoll.THRESHOLD_HEAVIEST, range(8))
    four(world, "reduce_threshold", (x, y, heaviest), lambda: fill(y, [-1] * 8),
         lambda: is_(y, [-1] * 4 + [p] * 4 if job.rank == 0 else [-1] * 8))
    of_ranks = ncoll.ThresholdStatus(ranks=p)
    world.reduce_threshold(x, y, ncoll.Threshold(1, ncoll.THRESHOLD_RANKS), status=of_ranks)
    expect(of_ranks.ranks == p and of_ranks.rank_in == [True] * p)
    expect_raises(ValueError, world.bcast_threshold, x, ncoll.Threshold(0.5, ncoll.THRESHOLD_HEAVIEST, [1.0]))
    expect_raises(ValueError, world.bcast_threshold, x, ncoll.Threshold(1), 0, ncoll.ThresholdStatus(elements=3))

    halves, out = array.array("f", [0.5] * 64), array.array("f", [0.0] * 64)
    with world.create_compressor(ncoll.Codec.round16(ncoll.HALF), 64, ncoll.FLOAT, feedback=True) as rounded:
        four(rounded, "allreduce", (halves, out), lambda: fill(out, [0] * 64), lambda: is_(out, [0.5 * p] * 64))
        four(rounded, "bcast", (halves if job.rank == 0 else None, out), lambda: fill(out, [0] * 64),
             lambda: is_(out, halves))
        rounded.residual(out)
        is_(out, [0] * 64)
        rounded.reset(halves)
        rounded.residual(out)
        is_(out, halves)
        rounded.reset()
    expect_raises(ncoll.HandleError, rounded.reset)
    top = world.create_compressor(ncoll.Codec.topk(0.25), 64, ncoll.FLOAT)
    ramp = array.array("f", range(64))
    top.allreduce(ramp, out)
    expect(out[63] == 63 * p and out[0] == 0)
    expect_raises(ncoll.ArgumentError, ncoll.Codec.topk, 2)

    # One of the program's own: bytes of whole numbers.
    codec = ncoll.Codec("bytes", lambda count, type: count if type == ncoll.FLOAT else None,
                        lambda elements: bytes(int(x) for x in elements), lambda data, count: [float(b) for b in data],
                        flags=ncoll.CODEC_CHUNKS | ncoll.CODEC_FIXED)
    own = world.create_compressor(codec, 64, ncoll.FLOAT)
    own.allreduce(ramp, out)
    is_(out, [i * p for i in range(64)])
    expect_raises(ncoll.ArgumentError, world.create_compressor, codec, 64, ncoll.DOUBLE)


def rank(seed):
    def main(job):
        for s in range(seed, seed + 2):
            collectives(job, s)
            with_counts(job, s)
        types_and_buffers(job)
        own_types_and_operations(job)
        groups_and_requests(job)
        the_rest(job)
        sleeping(job)
        eventual(job)
        job.world.barrier()
        return 0

    return main


def leaves(job):
    """Rank 0 leaves without a word; the others are told which rank it was."""
    job.world.barrier()
    if job.rank == 0:
        return 0
    error = expect_raises(ncoll.PeerError, lambda: [job.world.barrier(), job.world.barrier()])
    expect(error.peer == 0 and error.status == ncoll.ERR_PEER)
    return 0


def differ(job):
    x = bytearray(4)
    error = expect_raises(ncoll.MismatchError, job.world.bcast if job.rank else job.world.allgather, x,
                          *([0] if job.rank else [bytearray(4 * job.size)]))
    expect(error.status == ncoll.ERR_MISMATCH)
    return 0


class Board:
    """Values of one rank."""

    def __init__(self):
        self.values, self.fences = {}, 0

    def put(self, key, data):
        self.values[key] = data

    def fence(self, timeout):
        self.fences += 1

    def get(self, rank, key):
        return self.values[key]


def alone():
    lines = []
    with ncoll.Context(log=lambda level, text: lines.append(text), log_level=ncoll.LOG_INFO, interruptible=0.05) as job:
        expect(job.size == 1 and lines)
        job.world.barrier()
        left = job.world.dup()
    expect(job.closed)
    expect_raises(ncoll.HandleError, left.barrier)
    expect_raises(ncoll.HandleError, job.progress)
    expect_raises(TypeError, ncoll.Context, pigeons=1)
    expect(expect_raises(ncoll.ArgumentError, ncoll.Context, transport="pigeons").remedy)
    with ncoll.Context(bootstrap=ncoll.BOOTSTRAP_USER, rank=0, ranks=1, allgather=lambda data: [data]) as job:
        expect(job.size == 1)
    board = Board()
    with ncoll.Context(bootstrap=ncoll.BOOTSTRAP_USER, rank=0, ranks=1, callbacks=board):
        expect(board.fences > 0)
    error = expect_raises(ncoll.Error, ncoll.Context, bootstrap=ncoll.BOOTSTRAP_USER, rank=0, ranks=1, log_level=0,
                          allgather=lambda data: 1 / 0)
    expect(error.status == ncoll.ERR_BOOTSTRAP and isinstance(error.__cause__, ZeroDivisionError))
    expect(ncoll.version().count(".") == 2 and ncoll.status_text(0) == "success")
    expect(ncoll.radix_list([3, 2, 2]) > 16)
    expect_raises(ncoll.ArgumentError, ncoll.radix_list, [17])


def threads():
    """Ranks that are threads; the last one does not come to the second job."""
    sums, errors, absent = [], [], 2

    def rank(number):
        mine, total = array.array("q", [number]), array.array("q", [0])
        with ncoll.Context(thread_board=board, rank=number) as job:
            job.world.allreduce(mine, total, ncoll.SUM)
        sums.append(total[0])
        if number == absent:
            board.give_up(number)
            return
        try:
            ncoll.Context(thread_board=board, rank=number)
        except ncoll.PeerError as error:
            errors.append(error.peer)

    with ncoll.ThreadBoard(3) as board:
        crew = [threading.Thread(target=rank, args=(number,)) for number in range(3)]
        for thread in crew:
            thread.start()
        for thread in crew:
            thread.join()
        expect(sums == [3] * 3 and errors == [absent] * 2)
        expect_raises(ncoll.ArgumentError, board.give_up, 3)
    expect_raises(ncoll.HandleError, board.give_up, 0)
    expect(expect_raises(ncoll.ArgumentError, ncoll.ThreadBoard, 0).remedy)


def main():
    global np
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    seed = parser.parse_args().seed
    print(f"seed {seed}, libncoll {ncoll.version()}, NumPy {np.__version__ if np else 'is not there'}")
    alone()
    threads()
    for with_numpy in ((True, False) if np else (False,)):
        if not with_numpy:
            np = buffers._numpy = None
        for ranks in (1, 2, 4):
            expect(ncoll.fork_ranks(ranks, rank(seed)) == [0] * ranks, f"{ranks} ranks, seed {seed}")
        seed += 2
    for case in (leaves, differ):
        expect(ncoll.fork_ranks(3, case, log_level=ncoll.LOG_NONE) == [0] * 3, case.__name__)
    expect(ncoll.fork_ranks(2, lambda job: 5 * job.rank) == [0, 5])
    expect(ncoll.fork_ranks(2, lambda job: sys.exit(job.rank)) == [0, 1])
    expect_raises(ncoll.ArgumentError, ncoll.fork_ranks, 0, leaves, log_level=ncoll.LOG_NONE)
    print("all calls")


if __name__ == "__main__":
    main()
