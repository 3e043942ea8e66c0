#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""python_kinds: an argument of a wrong kind is a TypeError that says what has to be there and what was given, and a
number that C cannot hold is a ValueError. Nothing of it gets to the library, so one rank is enough."""
import array
import sys

import ncoll

wrong, checks = [], 0
OP, TYPE, COUNTS = "op has to be an operation, such as ncoll.SUM", "such as ncoll.DOUBLE", "a sequence of whole numbers"


def doubles(n=4):
    return array.array("d", [1.0] * n)


def refused(said, given, function, *arguments, kind=TypeError, **keywords):
    global checks
    checks += 1
    call = getattr(function, "__qualname__", str(function)) + repr(arguments) + repr(keywords)
    try:
        function(*arguments, **keywords)
    except Exception as error:
        if error.__class__ is not kind or said not in str(error) or given not in str(error):
            wrong.append(f"{call}: {error.__class__.__name__}: {error}; expected '{said}' and '{given}'")
    else:
        wrong.append(f"{call}: accepted")


def operations(job):
    world, x = job.world, doubles()
    for value, given in (("sum", "str 'sum'"), (1.0, "float 1.0"), (None, "None"), (True, "bool True"), (max, "function max"),
                         (ncoll.DOUBLE, "DataType"), (job.create_type(8), "UserType")):
        for form in ("", "_start", "_init"):
            refused(OP, given, getattr(world, "allreduce" + form), x, x, value)
        refused(OP, given, world.scan, x, x, value)
        refused(OP, given, world.reduce, x, x, value)
        refused(OP, given, world.reduce_scatter, x, x, [4], value)
        refused(OP, given, world.reduce_scatter_block, x, x, value)
        refused(OP, given, world.create_stale, 4, ncoll.DOUBLE, value)
        refused(OP, given, world.reduce_threshold, x, x, ncoll.Threshold(1), value)
    refused("op has to be from 0", str(2**32 + 1), world.allreduce, x, x, 2**32 + 1, kind=ValueError)
    for value, given in ((5, "int 5"), (None, "None")):
        refused("function has to be a function", given, job.create_op, value)
    refused("inverse has to be a function", "int 3", job.create_op, max, inverse=3)
    refused("name has to be a string", "int 3", job.create_op, max, name=3)
    refused("begin has to be a function", "int 5", job.set_hooks, 5)
    refused("end has to be a function", "str 'x'", job.set_hooks, end="x")


def types(job):
    world, x = job.world, doubles()
    for value, given in (("double", "str 'double'"), (8.0, "float 8.0"), (float, "<class 'float'>"), (ncoll.SUM, "Operation"),
                         (job.create_op(max), "UserOp")):
        refused(TYPE, given, world.bcast, ncoll.typed(x, value))
        refused(TYPE, given, world.create_stale, 4, value)
        refused(TYPE, given, world.create_compressor, ncoll.Codec.topk(0.5), 4, value)
        refused(TYPE, given, ncoll.Codec.round16, value)
        refused(TYPE, given, job.type_size, value)
        refused(TYPE, given, ncoll.type_size, value)
    refused("none of the library's", "99", world.bcast, ncoll.typed(x, 99), kind=ValueError)
    refused("size has to be a number of bytes", "None", job.create_type, None)
    refused("size has to be from 1", "-1", job.create_type, -1, kind=ValueError)
    refused("name has to be a string", "int 5", job.create_type, 8, 5)
    refused("different types", "DOUBLE and FLOAT", world.allreduce, x, array.array("f", [1] * 4))


def buffers(job):
    world, x = job.world, doubles()
    refused("buffer is None", "needs", world.bcast, None)
    refused("data is None", "needs", world.allreduce, None, None)
    refused("out is None", "needs", world.allreduce, x, None)
    refused("out is None", "needs", world.reduce, x, None)
    refused("out is None", "needs", world.gather, x, None)
    refused("data is None", "needs", world.scatter, None, x)
    refused("buffer is None", "needs", job.register, None)
    refused("buffer: str has no buffer", "NumPy array", world.bcast, "text")
    for value, given in ((None, "None"), (4, "int 4"), ("4", "str '4'")):
        refused("counts has to be " + COUNTS, given, world.allgatherv, x, x, value)
        refused("counts has to be " + COUNTS, given, world.reduce_scatter, x, x, value)
        refused("data_counts has to be " + COUNTS, given, world.alltoallv, x, value, x, value)
    refused("displs has to be " + COUNTS, "str 'x'", world.allgatherv, x, x, [4], "x")
    refused("an entry of counts has to be a whole number", "float 4.5", world.allgatherv, x, x, [4.5])
    refused("an entry of counts has to be from 0", str(2**70), world.allgatherv, x, x, [2**70], kind=ValueError)
    for value, given in (("5", "str '5'"), (None, "None"), (1e3, "float 1000.0")):
        refused("size has to be a whole number", given, job.alloc, value)
    refused("size has to be from 0", "-1", job.alloc, -1, kind=ValueError)


def ranks_and_times(job):
    world, x = job.world, doubles()
    root = "root has to be the number of a rank"
    for value, given in (("0", "str '0'"), (0.0, "float 0.0"), (None, "None"), ([0], "list [0]")):
        refused(root, given, world.bcast, x, value)
        refused(root, given, world.bcast_start, bytes(8), value)
        refused(root, given, world.reduce, x, x, ncoll.SUM, value)
        refused(root, given, world.gather, x, x, value)
        refused(root, given, world.gatherv, x, x, [4], None, value)
        refused(root, given, world.scatter, x, x, value)
        refused(root, given, world.scatterv, x, x, [4], None, value)
        refused(root, given, world.bcast_threshold, x, ncoll.Threshold(1), value)
        with world.create_compressor(ncoll.Codec.topk(0.5), 4, ncoll.DOUBLE) as compressor:
            refused(root, given, compressor.bcast, x, x, value)
        refused("has to be a whole number", given, ncoll.ThreadBoard, value)
        refused("has to be a whole number", given, ncoll.fork_ranks, value, len)
    refused("root has to be from", str(2**32), world.bcast, x, 2**32, kind=ValueError)
    refused("main has to be a function", "int 5", ncoll.fork_ranks, 1, 5)
    refused("rank has to be a whole number", "str '0'", world.world_rank, "0")
    refused("color has to be None or a whole number", "str 'red'", world.split, "red")
    refused("key has to be a whole number", "None", world.split, 0, None)
    refused("ranks has to be " + COUNTS, "int 0", world.from_ranks, 0)
    refused("an entry of ranks has to be a whole number", "float 0.0", world.from_ranks, [0.0])
    refused("sync has to be LOOSE, STRICT_ENTRY", "str 'strict'", setattr, world, "sync", "strict")
    for value, given in (("1", "str '1'"), (1j, "complex 1j"), ([1], "list [1]")):
        refused("None or a number of seconds", given, world.barrier, value)
        refused("None or a number of seconds", given, world.split, 0, 0, value)
        refused("interruptible has to be None or a number", given, ncoll.Context, value)
        with world.barrier_start() as request:
            refused("None or a number of seconds", given, request.wait, value)
            refused("None or a number of seconds", given, ncoll.wait_all, [request], value)
    for wait in (ncoll.wait_all, ncoll.wait_any, ncoll.wait_some):
        refused("requests has to be a sequence", "int 5", wait, 5)
        refused("an entry of requests has to be a request", "None", wait, [None])
    refused("radices has to be " + COUNTS, "int 3", ncoll.radix_list, 3)
    refused("status has to be a whole number", "str 'x'", ncoll.status_text, "x")


def parameters(_):
    """ctypes takes a number for the address of a string, so that some of these ended the process."""
    for name, value, said, given in (
            ("transport", 5, "a string", "int 5"), ("rank", "0", "a whole number", "str '0'"),
            ("window_bytes", 1e6, "a whole number", "float"), ("log", 5, "a function", "int 5"),
            ("allgather", "x", "a function", "str 'x'"), ("callbacks", 5, "put(), fence() and get()", "int 5"),
            ("thread_board", 5, "an ncoll.ThreadBoard", "int 5"), ("ranks_per_core", "2", "a number", "str '2'"),
            ("log_level", "info", "a whole number", "str 'info'"), ("radix", [3, 2], "a whole number", "list [3, 2]")):
        refused(f"{name} has to be {said}" if name != "callbacks" else said, given, ncoll.Context, **{name: value})
    refused("rank has to be from", str(2**40), ncoll.Context, rank=2**40, kind=ValueError)


def eventual(job):
    world, x = job.world, doubles()
    with world.create_stale(4, ncoll.DOUBLE) as stale:
        refused("slack has to be a whole number", "str '1'", stale.allreduce, x, x, "1")
        refused("quorum has to be a whole number", "None", stale.allreduce_partial, x, x, None)
        refused("result has to be None or a StaleResult", "int 5", stale.allreduce, x, x, 0, 5)
    refused("count has to be a whole number", "str '4'", world.create_stale, "4", ncoll.DOUBLE)
    refused("algorithm has to be a StaleAlgorithm", "str 'ring'", world.create_stale, 4, ncoll.DOUBLE, algorithm="ring")
    refused("threshold has to be an ncoll.Threshold", "float 0.5", world.bcast_threshold, x, 0.5)
    refused("threshold has to be an ncoll.Threshold", "float 0.5", world.reduce_threshold, x, x, 0.5)
    refused("status has to be None or a ThresholdStatus", "int 5", world.bcast_threshold, x, ncoll.Threshold(1), 0, 5)
    refused("fraction has to be a number", "str 'x'", ncoll.Threshold, "x")
    refused("of has to be THRESHOLD_DATA", "str 'data'", ncoll.Threshold, 0.5, "data")
    refused("weights has to be a sequence of numbers", "int 5", ncoll.Threshold, 0.5, ncoll.THRESHOLD_HEAVIEST, 5)
    refused("after has to be None or a ThresholdStatus", "int 5", ncoll.Threshold, 0.5, after=5)
    refused("fraction has to be a number", "str 'x'", ncoll.Codec.topk, "x")
    refused("codec has to be an ncoll.Codec", "str 'topk'", world.create_compressor, "topk", 4, ncoll.DOUBLE)
    refused("encode has to be a function", "None", ncoll.Codec, "x", len, None, None)


def main():
    with ncoll.Context(log_level=ncoll.LOG_NONE) as job:
        for cases in (operations, types, buffers, ranks_and_times, eventual, parameters):
            cases(job)
        total = doubles()  # calls that were refused have left nothing behind
        job.world.allreduce(total, total)
    for line in wrong:
        print(line)
    print(f"{checks} arguments of a wrong kind, {len(wrong)} of them without the right error")
    sys.exit(1 if wrong else 0)


main()
