# SPDX-License-Identifier: BSD-3-Clause
"""libncoll as ctypes sees it: where it is, its structures and its functions."""
import ctypes
import os
import subprocess
import threading
from ctypes import (
    CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, c_int, c_int64, c_size_t, c_ssize_t, c_uint, c_uint32,
    c_uint64, c_uint8, c_void_p, sizeof)
from typing import Any, Iterator, Optional

SONAME = "libncoll.so.0"

# ---------------------------------------------------------------------- callbacks

COMBINE = CFUNCTYPE(None, c_void_p, c_void_p, c_void_p, c_size_t, c_uint32, c_void_p)
PUT = CFUNCTYPE(c_int, c_void_p, c_char_p, c_void_p, c_size_t)
FENCE = CFUNCTYPE(c_int, c_void_p, c_int64)
GET = CFUNCTYPE(c_int, c_void_p, c_int, c_char_p, c_void_p, POINTER(c_size_t))
ALLGATHER = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, c_void_p)
LOG = CFUNCTYPE(None, c_void_p, c_int, c_char_p)
ALLOCATE = CFUNCTYPE(c_void_p, c_void_p, c_size_t)
RELEASE = CFUNCTYPE(None, c_void_p, c_void_p)
CLOCK = CFUNCTYPE(c_uint64, c_void_p)
BEGIN = CFUNCTYPE(c_void_p, c_void_p, c_void_p)
END = CFUNCTYPE(None, c_void_p, c_int, c_void_p, c_void_p)
RANK_MAIN = CFUNCTYPE(c_int, c_void_p, c_void_p)
BOUND = CFUNCTYPE(c_size_t, c_size_t, c_uint32, c_void_p)
ENCODE = CFUNCTYPE(c_size_t, c_void_p, c_void_p, c_size_t, c_uint32, c_void_p)
DECODE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, c_size_t, c_uint32, c_void_p)

# ---------------------------------------------------------------------- structures, named as in C


class ncoll_error(Structure):
    _fields_ = [("status", c_int), ("rank", c_int), ("peer", c_int), ("cause", c_char * 384), ("remedy", c_char * 256),
                ("text", c_char * 768), ("reason", c_int)]


class ncoll_op_def(Structure):
    _fields_ = [("size", c_size_t), ("flags", c_uint), ("combine", COMBINE), ("inverse", COMBINE), ("arg", c_void_p)]


class ncoll_bootstrap_callbacks(Structure):
    _fields_ = [("put", PUT), ("fence", FENCE), ("get", GET), ("arg", c_void_p)]


class ncoll_params(Structure):
    _fields_ = [
        ("size", c_size_t), ("bootstrap", c_int), ("callbacks", ncoll_bootstrap_callbacks), ("board", c_void_p),
        ("rank", c_int), ("ranks", c_int), ("root", c_char_p), ("bootstrap_timeout_ns", c_int64),
        ("transport", c_char_p), ("wiring", c_char_p), ("device", c_char_p), ("port", c_int), ("gid_index", c_int),
        ("nodes", c_char_p), ("level", c_int), ("barrier_algorithm", c_char_p), ("allreduce_algorithm", c_char_p),
        ("bcast_algorithm", c_char_p), ("reduce_algorithm", c_char_p), ("gather_algorithm", c_char_p),
        ("scatter_algorithm", c_char_p), ("allgather_algorithm", c_char_p), ("alltoall_algorithm", c_char_p),
        ("reduce_scatter_algorithm", c_char_p), ("scan_algorithm", c_char_p), ("exscan_algorithm", c_char_p),
        ("radix", c_int), ("tune", c_int), ("any_order", c_int), ("sync", c_int), ("window_bytes", c_size_t),
        ("group_window_bytes", c_size_t), ("zero_copy_bytes", c_size_t), ("show_bytes", c_size_t),
        ("huge_pages", c_int), ("spin_ns", c_int64), ("log", LOG), ("log_arg", c_void_p), ("log_level", c_int),
        ("allocate", ALLOCATE), ("release", RELEASE), ("allocate_arg", c_void_p), ("clock_ns", CLOCK),
        ("clock_arg", c_void_p), ("tune_file", c_char_p), ("single_copy_bytes", c_size_t), ("stall_warn_ns", c_int64),
        ("key", c_char_p), ("trace", c_char_p), ("trace_events", c_int), ("peers", c_int), ("pkey", c_int),
        ("service_level", c_int), ("traffic_class", c_int), ("mtu", c_int), ("timeout_exponent", c_int),
        ("retries", c_int), ("peer_timeout_ns", c_int64), ("gid", c_char_p), ("relaxed_ordering", c_int),
        ("rails", c_int), ("rail_bytes", c_size_t), ("fork_safe", c_int), ("allgather", ALLGATHER),
        ("allgather_arg", c_void_p), ("rules_file", c_char_p), ("barrier_rules", c_char_p),
        ("allreduce_rules", c_char_p), ("bcast_rules", c_char_p), ("reduce_rules", c_char_p),
        ("gather_rules", c_char_p), ("scatter_rules", c_char_p), ("allgather_rules", c_char_p),
        ("alltoall_rules", c_char_p), ("reduce_scatter_rules", c_char_p), ("scan_rules", c_char_p),
        ("exscan_rules", c_char_p), ("thread_board", c_void_p), ("ranks_per_core", c_double)]


class ncoll_stats(Structure):
    _fields_ = [
        ("size", c_size_t), ("transport", c_char_p), ("bootstrap", c_char_p), ("wiring", c_char_p), ("rank", c_int),
        ("ranks", c_int), ("nodes", c_int), ("node_ranks", c_int), ("connections", c_int), ("oversubscribed", c_int),
        ("puts", c_uint64), ("put_bytes", c_uint64), ("rnr", c_uint64), ("sleeps", c_uint64),
        ("exchanged_bytes", c_size_t), ("memory_bytes", c_size_t), ("scratch_bytes", c_size_t),
        ("user_bytes", c_size_t), ("landed_bytes", c_uint64), ("shown_bytes", c_uint64), ("huge_bytes", c_size_t),
        ("lent_bytes", c_uint64), ("pinned_bytes", c_size_t), ("rail_bytes", c_uint64), ("ranks_per_core", c_double)]


class ncoll_call_info(Structure):
    _fields_ = [
        ("size", c_size_t), ("id", c_uint64), ("kind", c_int), ("mode", c_int), ("name", c_char_p), ("group", c_void_p),
        ("group_id", c_uint64), ("rank", c_int), ("ranks", c_int), ("root", c_int), ("type", c_uint32), ("op", c_uint32),
        ("count", c_size_t), ("in_bytes", c_size_t), ("out_bytes", c_size_t), ("algorithm", c_char_p), ("radix", c_int)]


class ncoll_hooks(Structure):
    _fields_ = [("size", c_size_t), ("begin", BEGIN), ("end", END), ("user", c_void_p)]


class ncoll_stale_params(Structure):
    _fields_ = [("size", c_size_t), ("max_slack", c_int), ("algorithm", c_int), ("clocks", c_int), ("partial", c_int)]


class ncoll_stale_result(Structure):
    _fields_ = [("size", c_size_t), ("clock", c_uint64), ("min_clock", c_uint64), ("fresh", c_int),
                ("clocks", POINTER(c_uint64)), ("waited_ns", c_uint64)]


class ncoll_threshold_status(Structure):
    _fields_ = [("size", c_size_t), ("element_in", POINTER(c_uint8)), ("rank_in", POINTER(c_uint8)), ("of", c_int),
                ("count", c_size_t), ("elements", c_size_t), ("ranks", c_int)]


class ncoll_threshold(Structure):
    _fields_ = [("size", c_size_t), ("of", c_int), ("fraction", c_double), ("weights", POINTER(c_double)),
                ("after", POINTER(ncoll_threshold_status))]


class ncoll_codec(Structure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("flags", c_uint), ("parameters", c_uint64), ("bound", BOUND),
                ("encode", ENCODE), ("decode", DECODE), ("add", DECODE), ("arg", c_void_p)]


STRUCTURES = (ncoll_error, ncoll_op_def, ncoll_bootstrap_callbacks, ncoll_params, ncoll_stats, ncoll_stale_params,
              ncoll_stale_result, ncoll_threshold_status, ncoll_threshold, ncoll_codec, ncoll_call_info, ncoll_hooks)

# ---------------------------------------------------------------------- functions

# Arguments by letters: h handle, b buffer, s structure or array, n size_t, i int, t type or operation, d double,
# u unsigned, c string. The collectives have a time-out or a request besides.
COLLECTIVES = {
    "barrier": "h", "allreduce": "hbbntt", "reduce": "hbbntti", "bcast": "hbnti", "gather": "hbbnti",
    "gatherv": "hbbssti", "scatter": "hbbnti", "scatterv": "hbssbti", "allgather": "hbbnt", "allgatherv": "hbbsst",
    "alltoall": "hbbnt", "alltoallv": "hbssbsst", "reduce_scatter": "hbbstt", "reduce_scatter_block": "hbbntt",
    "scan": "hbbntt", "exscan": "hbbntt", "allreduce_ssp": "hbbnttis", "allreduce_partial": "hbbnttis",
    "bcast_threshold": "hbntiss", "reduce_threshold": "hbbnttiss", "allreduce_compressed": "hhbbntt",
    "bcast_compressed": "hhbbnti"}
# The others: their result, and T for a time-out.
OTHERS = {
    "status_text": ("c", "i"), "reason_text": ("c", "i"), "reason_name": ("c", "i"), "version": ("c", ""), "type_size": ("n", "t"), "type_create": ("i", "hns"),
    "type_create_named": ("i", "hncs"), "context_type_size": ("n", "ht"), "op_create": ("i", "hss"),
    "op_create_named": ("i", "hscs"), "params_init": ("i", "sn"), "radix_list": ("i", "sn"),
    "context_create": ("i", "sss"), "context_destroy": ("", "h"), "last_error": ("s", "h"), "describe": ("n", "hsn"),
    "context_stats": ("i", "hs"), "world": ("s", "h"), "group_rank": ("i", "h"), "group_size": ("i", "h"),
    "group_world_rank": ("i", "hi"), "group_split": ("i", "hiisT"), "group_from_ranks": ("i", "hsisT"),
    "group_dup": ("i", "hsT"), "group_free": ("i", "sT"), "group_set_sync": ("i", "hu"), "group_sync": ("i", "h"),
    "alloc": ("i", "hns"), "free": ("i", "hb"), "mem_register": ("i", "hbn"), "mem_deregister": ("i", "hb"),
    "start": ("i", "h"), "request_free": ("i", "s"), "test": ("i", "s"), "wait": ("i", "sT"), "progress": ("i", "h"),
    "progress_count": ("i", "hs"), "context_fd": ("i", "hs"), "context_arm": ("i", "h"), "context_set_hooks": ("i", "hs"),
    "wait_all": ("i", "snsT"), "wait_any": ("i", "snsT"), "wait_some": ("i", "snssT"),
    "stale_create": ("i", "hsnttsT"), "stale_free": ("i", "sT"), "codec_topk": ("i", "sd"),
    "codec_round16": ("i", "st"), "compressor_create": ("i", "hsntis"), "compressor_free": ("i", "s"),
    "thread_board_create": ("i", "iss"), "thread_board_give_up": ("i", "si"), "thread_board_destroy": ("", "s"),
    "compressor_residual": ("i", "hb"), "compressor_reset": ("i", "hb")}
# Runs with the interpreter's lock held: see fork.py.
FORK_RANKS = "fork_ranks"

_TYPES = {"h": c_void_p, "b": c_void_p, "s": c_void_p, "n": c_size_t, "i": c_int, "t": c_uint32, "d": c_double,
          "u": c_uint, "c": c_char_p, "T": c_int64, "": None}


def prototypes() -> dict:
    """Name of each function, its result, and its arguments, as letters."""
    every = {name: value for name, value in OTHERS.items()}
    for name, arguments in COLLECTIVES.items():
        every[name] = ("i", arguments + "T")
        every[name + "_start"] = every[name + "_init"] = ("i", arguments + "s")
    return every


class Library:
    """The functions, by their names without `ncoll_`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._handle = ctypes.CDLL(path)
        for name, (result, arguments) in prototypes().items():
            function = getattr(self._handle, "ncoll_" + name)
            function.restype = _TYPES[result]
            function.argtypes = [_TYPES[letter] for letter in arguments]
            setattr(self, name, function)
        locked = ctypes.PyDLL(path, handle=self._handle._handle)
        self.fork_ranks = locked.ncoll_fork_ranks
        self.fork_ranks.restype = c_int
        self.fork_ranks.argtypes = [c_int, c_void_p, RANK_MAIN, c_void_p, c_void_p]
        self.params_size = self._params_size()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{self.path} has no function ncoll_{name}")

    def _params_size(self) -> int:
        """The size of ncoll_params in this library, which may be an older or a later one. Fields are only ever added at
        the end, and it accepts no size but its own and those of a few releases."""
        room = ctypes.create_string_buffer(sizeof(ncoll_params) + 4096)
        own = sizeof(ncoll_params)
        oldest = ncoll_params.single_copy_bytes.offset + ncoll_params.single_copy_bytes.size
        for size in (own, *range(own + 8, own + 4096, 8), *range(own - 8, oldest - 8, -8)):
            if self.params_init(room, size) == 0:
                return size
        raise ImportError(f"{self.path} is an ncoll that this package does not know: update one of them")


def _candidates() -> Iterator[str]:
    named = os.environ.get("NCOLL_LIBRARY")
    if named:
        yield named
        return
    yield SONAME
    try:
        folder = subprocess.run(["pkg-config", "--variable=libdir", "ncoll"], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, check=True, timeout=10).stdout.decode().strip()
    except (OSError, subprocess.SubprocessError):
        return
    yield os.path.join(folder, SONAME)


_lock = threading.Lock()
_library: Optional[Library] = None


def library() -> Library:
    """The library: the one that NCOLL_LIBRARY names, else one that the loader finds, else that of pkg-config."""
    global _library
    with _lock:
        if _library is None:
            reasons = []
            for path in _candidates():
                try:
                    _library = Library(path)
                    break
                except (OSError, AttributeError) as error:
                    reasons.append(str(error))
            else:
                raise ImportError(f"libncoll was not found: install it, or set NCOLL_LIBRARY to the path of {SONAME} "
                                  f"({'; '.join(reasons)})")
        return _library


# ---------------------------------------------------------------------- the buffer protocol


class Py_buffer(Structure):
    """As in CPython's stable ABI."""

    _fields_ = [("buf", c_void_p), ("obj", c_void_p), ("len", c_ssize_t), ("itemsize", c_ssize_t),
                ("readonly", c_int), ("ndim", c_int), ("format", c_char_p), ("shape", c_void_p),
                ("strides", c_void_p), ("suboffsets", c_void_p), ("internal", c_void_p)]


get_buffer = ctypes.pythonapi.PyObject_GetBuffer
get_buffer.argtypes = [ctypes.py_object, POINTER(Py_buffer), c_int]
get_buffer.restype = c_int
release_buffer = ctypes.pythonapi.PyBuffer_Release
release_buffer.argtypes = [POINTER(Py_buffer)]
release_buffer.restype = None
