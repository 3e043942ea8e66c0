# SPDX-License-Identifier: BSD-3-Clause
"""A context: one rank's end of a job."""
import ctypes
import traceback
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

from . import _c, checks, errors
from .buffers import AnyType, UserType, View, elements, nanoseconds, numpy_or_none, type_number
from .constants import CallKind, CallMode, DataType, LogLevel, OpFlags, Status
from .eventual import store
from .group import Group
from .operations import UserOp
from .threads import ThreadBoard

_CALLABLES = ("log", "allgather", "callbacks")


class Parameters:
    """ncoll_params, filled in from keywords, with what they refer to."""

    def __init__(self, keywords: Dict[str, Any]) -> None:
        self.lib = _c.library()
        # A later library may have fields at the end that this package does not know: they keep their defaults.
        self.memory = ctypes.create_string_buffer(max(self.lib.params_size, ctypes.sizeof(_c.ncoll_params)))
        status = self.lib.params_init(self.memory, self.lib.params_size)
        if status != Status.OK:
            raise errors.of_status(status, "ncoll_params_init() has failed")
        self.c = _c.ncoll_params.from_buffer(self.memory)
        self.kept: List[Any] = []
        self.thrown: Optional[BaseException] = None
        for name, value in keywords.items():
            self._set(name, value)

    def _set(self, name: str, value: Any) -> None:
        field = getattr(_c.ncoll_params, name, None)
        if field is None or name in ("size", "board", "log_arg", "allgather_arg"):
            raise TypeError(f"ncoll_params has no field {name!r} to be set: its comment in ncoll.h lists them")
        if field.offset + field.size > self.lib.params_size:
            raise errors.of_status(Status.ERR_UNSUPPORTED, f"{self.lib.path} is too old for the parameter {name!r}")
        self.kept.append(value)
        value = self._converted(name, value, dict(_c.ncoll_params._fields_)[name])
        self.kept.append(value)
        setattr(self.c, name, value)

    def _converted(self, name: str, value: Any, kind: Any) -> Any:
        """The value for C. ctypes would take a number for an address, and cut one that is too large."""
        if name in _CALLABLES:
            return getattr(self, "_" + name)(value)
        if name == "thread_board":
            return None if value is None else checks.one_of(value, ThreadBoard, name, "an ncoll.ThreadBoard").pointer
        if kind is ctypes.c_char_p:
            return value if value is None or isinstance(value, bytes) else checks.text(value, name)
        if kind is ctypes.c_double:
            return checks.real(value, name)
        if kind is ctypes.c_void_p or not issubclass(kind, ctypes._SimpleCData):
            return value  # a function of ctypes for allocate, release or clock_ns, and what it gets
        most = 2 ** (8 * ctypes.sizeof(kind) - (kind(-1).value < 0)) - 1
        return checks.whole(value, name, -most - 1 if kind(-1).value < 0 else 0, most)

    def _caught(self, error: BaseException) -> None:
        self.thrown = self.thrown or error

    def _log(self, function: Callable[[LogLevel, str], Any]) -> Any:
        checks.function(function, "log")

        def log(_: Any, level: int, text: bytes) -> None:
            try:
                function(LogLevel(level), text.decode(errors="replace"))
            except Exception:
                traceback.print_exc()

        return _c.LOG(log)

    def _allgather(self, function: Callable[[bytes], Sequence[bytes]]) -> Any:
        checks.function(function, "allgather")

        def allgather(_: Any, data: int, n: int, out: int) -> int:
            try:
                given = function(ctypes.string_at(data, n))
                whole = bytes(given) if isinstance(given, (bytes, bytearray)) else b"".join(given)
                if len(whole) != n * self.c.ranks:
                    raise ValueError(f"allgather gave {len(whole)} bytes, not {n} of each of {self.c.ranks} ranks")
                ctypes.memmove(out, whole, len(whole))
                return 0
            except BaseException as error:
                self._caught(error)
                return 1

        return _c.ALLGATHER(allgather)

    def _callbacks(self, board: Any) -> Any:
        if not all(callable(getattr(board, name, None)) for name in ("put", "fence", "get")):
            raise checks.wrong("callbacks", "an object with put(), fence() and get()", board)

        def put(_: Any, key: bytes, value: int, n: int) -> int:
            try:
                board.put(key.decode(), ctypes.string_at(value, n))
                return 0
            except BaseException as error:
                self._caught(error)
                return 1

        def fence(_: Any, timeout_ns: int) -> int:
            try:
                return 1 if board.fence(timeout_ns / 1e9) is False else 0
            except BaseException as error:
                self._caught(error)
                return 2

        def get(_: Any, rank: int, key: bytes, value: int, n: Any) -> int:
            try:
                found = bytes(board.get(rank, key.decode()))
                ctypes.memmove(value, found, min(n[0], len(found)))
                n[0] = len(found)
                return 0
            except BaseException as error:
                self._caught(error)
                return 1

        functions = _c.PUT(put), _c.FENCE(fence), _c.GET(get)
        self.kept.append(functions)
        return _c.ncoll_bootstrap_callbacks(*functions)


class Memory:
    """Memory of Context.alloc(), that messages need not be copied from. In a `with` statement it is freed at the end.
    Arrays and views of it must not be used any more when it is freed, or its context is closed."""

    def __init__(self, context: "Context", address: int, size: int) -> None:
        self._context, self.address, self.size = context, address, size

    def __enter__(self) -> "Memory":
        return self

    def __exit__(self, *_: Any) -> None:
        if self.address and not self._context.closed:
            self.free()

    def _block(self) -> Any:
        self._context._open()
        if not self.address:
            raise errors.of_status(Status.ERR_HANDLE, "the memory is freed")
        return (ctypes.c_char * self.size).from_address(self.address)

    def view(self, format: str = "B") -> memoryview:
        """The memory as a memoryview with elements of a format of struct, such as "d"."""
        view = memoryview(self._block()).cast("B")
        return view if format == "B" else view.cast(format)  # type: ignore[call-overload]

    def array(self, dtype: Any = "u1") -> Any:
        """The memory as an array of NumPy."""
        numpy = numpy_or_none()
        if numpy is None:
            raise ImportError("NumPy is not installed: use view()")
        return numpy.frombuffer(self._block(), dtype=dtype)

    def free(self) -> None:
        """Frees it; BusyError while an unfinished collective uses it."""
        if self.address:
            self._context._open()
            self._context._check(self._context._lib.free(self._context._handle, self.address))
            self.address = 0


class Registration:
    """A registration of a buffer's memory: see Context.register(). In a `with` statement it ends at the end."""

    def __init__(self, context: "Context", view: View) -> None:
        self._context, self._view = context, view
        context._registrations.add(self)

    def __enter__(self) -> "Registration":
        return self

    def __exit__(self, *_: Any) -> None:
        if not self._context.closed and self in self._context._registrations:
            self.end()

    def end(self) -> None:
        """Ends the registration."""
        self._context._open()
        self._context._check(self._context._lib.mem_deregister(self._context._handle, self._view.address))
        self._context._registrations.discard(self)


class CallInfo:
    """A call, as hooks get it: the fields of ncoll_call_info but for its size and its group."""

    def __init__(self, info: Any) -> None:
        self.id: int = info.id
        self.kind = CallKind(info.kind)
        self.mode = CallMode(info.mode)
        self.name: str = info.name.decode()
        self.group_id: int = info.group_id
        self.rank: int = info.rank
        self.ranks: int = info.ranks
        self.root: int = info.root
        self.type: int = info.type
        self.op: int = info.op
        self.count: int = info.count
        self.in_bytes: int = info.in_bytes
        self.out_bytes: int = info.out_bytes
        self.algorithm: Optional[str] = info.algorithm.decode() if info.algorithm else None
        self.radix: int = info.radix

    def __repr__(self) -> str:
        return f"<ncoll call {self.id}: {self.name}, {self.in_bytes} bytes in, {self.out_bytes} out>"


class Context:
    """One rank's end of a job. Making it joins the job; leaving the `with` statement, or close(), leaves it.

        with ncoll.Context() as job:
            job.world.allreduce(data, out)

    Keywords are the fields of ncoll_params, such as rank, ranks and root, transport or log_level, with the names and
    units of ncoll.h. These three take Python's functions:

    log        log(level, text)
    allgather  allgather(data) -> the data of all ranks, in a list or joined; ranks find each other by it, with
               bootstrap=BOOTSTRAP_USER, rank and ranks
    callbacks  an object with put(key, data), fence(timeout), which may return False after the time-out, and
               get(rank, key) -> data

    interruptible  seconds after which a blocking call without a time-out looks for Ctrl-C. By default it does not:
                   Python sees Ctrl-C when the call has ended. With it, ranks that wait for each other in a circle are
                   not told so.

    One thread at a time may use a context and its objects; other threads of Python run while a call waits.
    """

    def __init__(self, interruptible: Optional[float] = None, _params: Optional[Parameters] = None,
                 **keywords: Any) -> None:
        self._lib = _c.library()
        self.interruptible = interruptible is not None
        self.interruptible_ns = 0 if interruptible is None else nanoseconds(interruptible, "interruptible")
        self._kept: List[Any] = []
        self._requests: set = set()
        self._registrations: set = set()
        self._thrown: Optional[BaseException] = None
        self._types: Dict[int, UserType] = {}
        self._handle: Optional[ctypes.c_void_p] = None
        params = _params or Parameters(keywords)
        self._kept.append(params)
        handle = ctypes.c_void_p()
        record = ctypes.create_string_buffer(ctypes.sizeof(_c.ncoll_error) + 4096)  # a later library may write more
        status = self._lib.context_create(params.memory, ctypes.byref(handle), record)
        if status != Status.OK:
            error = errors.of_record(_c.ncoll_error.from_buffer(record))
            raise error from params.thrown
        self._handle = handle
        self.world = Group(self, self._lib.world(handle), False)
        """The group of all ranks."""
        self.rank: int = self.world.rank
        """World rank of this process."""
        self.size: int = self.world.size
        """Number of ranks of the job."""

    def __repr__(self) -> str:
        return "<ncoll context: closed>" if self.closed else f"<ncoll context: rank {self.rank} of {self.size}>"

    # ------------------------------------------------------------------ life

    @property
    def closed(self) -> bool:
        return self._handle is None

    def close(self) -> None:
        """Leaves the job, at once: calls that have ended on this rank do not need it any more. Groups, requests and
        memory of the context are invalid from now on."""
        if self._handle is not None:
            handle, self._handle = self._handle, None
            self._lib.context_destroy(handle)
            self._requests.clear()
            self._registrations.clear()

    def __enter__(self) -> "Context":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()

    # ------------------------------------------------------------------ results of calls

    def _open(self) -> None:
        if self._handle is None:
            raise errors.of_status(Status.ERR_HANDLE, "the context is closed")

    def _done(self, status: int, index: Optional[int] = None) -> bool:
        """True: done; False: not yet."""
        if status == Status.TIMEOUT:
            return False
        if self._thrown is not None:
            thrown, self._thrown = self._thrown, None
            raise thrown
        if status != Status.OK:
            raise self._error(status, index)
        return True

    def _check(self, status: int) -> None:
        self._done(status)

    def _error(self, status: int, index: Optional[int]) -> errors.Error:
        record = self._record()
        if record.status == status:
            return errors.of_record(record, index)
        return errors.of_status(status, self._lib.status_text(status).decode(), index)

    def _record(self) -> Any:
        return _c.ncoll_error.from_address(self._lib.last_error(self._handle))

    @property
    def last_error(self) -> Optional[errors.Error]:
        """The last error; after a time-out of a second or more, what the call waits for. None: there was none."""
        self._open()
        record = self._record()
        return None if record.status == Status.OK else errors.of_record(record)

    # ------------------------------------------------------------------ types, operations

    def create_type(self, size: Any, name: Optional[str] = None) -> UserType:
        """Makes a type of the program's own: elements of `size` bytes, or of a dtype of NumPy. Its buffers are marked by
        ncoll.typed(). All ranks make the same types in the same order."""
        self._open()
        dtype = None
        encoded = None if name is None else checks.text(name, "name")
        numpy = numpy_or_none()
        if numpy is not None and not isinstance(size, (int, numpy.integer)) and size is not None:
            dtype = numpy.dtype(size)
            size = dtype.itemsize
        size = checks.whole(size, "size", 1, checks.LONG, "a number of bytes, or a dtype if NumPy is there")
        made = ctypes.c_uint32()
        if name is None:
            status = self._lib.type_create(self._handle, size, ctypes.byref(made))
        else:
            status = self._lib.type_create_named(self._handle, size, encoded, ctypes.byref(made))
        self._check(status)
        self._types[made.value] = UserType(made.value, size, name, dtype)
        return self._types[made.value]

    def type_size(self, type: Union[AnyType, int]) -> int:
        """Bytes of an element of a type; 0: there is no such type."""
        self._open()
        return self._lib.context_type_size(self._handle, type_number(type))

    def create_op(self, function: Callable[[Any, Any], Any], commutative: bool = False, idempotent: bool = False,
                  inverse: Optional[Callable[[Any, Any], Any]] = None, name: Optional[str] = None) -> UserOp:
        """Makes an operation of a function, which is associative: function(left, right) returns the elements of left,
        combined with those of right. They are arrays of NumPy, or memoryviews if there is no NumPy, and cannot be
        written to; they must not be kept. inverse(function(a, b), b) gives a.

        If a function raises an exception, the next call of the context that ends on this rank raises it; the results of
        the collective are undefined then, on other ranks, too. All ranks make the same operations in the same order."""
        self._open()
        checks.function(function, "function")
        checks.function_or_none(inverse, "inverse")
        encoded = None if name is None else checks.text(name, "name")
        functions = [self._combine(f) if f is not None else _c.COMBINE() for f in (function, inverse)]
        definition = _c.ncoll_op_def(
            size=ctypes.sizeof(_c.ncoll_op_def), combine=functions[0], inverse=functions[1],
            flags=(OpFlags.COMMUTATIVE if commutative else 0) | (OpFlags.IDEMPOTENT if idempotent else 0))
        self._kept.append(functions)
        made = ctypes.c_uint32()
        if name is None:
            status = self._lib.op_create(self._handle, ctypes.byref(definition), ctypes.byref(made))
        else:
            status = self._lib.op_create_named(self._handle, ctypes.byref(definition), encoded,
                                               ctypes.byref(made))
        self._check(status)
        return UserOp(made.value, name, functions)

    def _combine(self, function: Callable[[Any, Any], Any]) -> Any:
        def combine(out: int, left: int, right: int, count: int, number: int, _: Any) -> None:
            try:
                type: AnyType = self._types.get(number) or DataType(number)
                size = type.size if isinstance(type, UserType) else self._lib.type_size(number)
                given = function(elements(left, count, type, size, True), elements(right, count, type, size, True))
                store(elements(out, count, type, size, False), given)
            except BaseException as error:
                self._thrown = self._thrown or error

        return _c.COMBINE(combine)

    # ------------------------------------------------------------------ hooks

    def set_hooks(self, begin: Optional[Callable[[CallInfo], Any]] = None,
                  end: Optional[Callable[[CallInfo, Status], Any]] = None) -> None:
        """Has begin(call) called when a call of this context begins, and end(call, status) when it has ended, from now
        on; without functions none is. The id of a call tells which end belongs to which begin. Inside them, calls on the
        context raise BusyError. What they raise is raised by the next call of the context that ends."""
        self._open()
        checks.function_or_none(begin, "begin")
        checks.function_or_none(end, "end")
        functions = [kind(self._hook(function)) if function is not None else kind()
                     for kind, function in ((_c.BEGIN, begin), (_c.END, end))]
        hooks = _c.ncoll_hooks(size=ctypes.sizeof(_c.ncoll_hooks), begin=functions[0], end=functions[1])
        self._kept.append(functions)
        self._check(self._lib.context_set_hooks(self._handle, ctypes.byref(hooks)))

    def _hook(self, function: Callable[..., Any]) -> Any:
        def hook(info: int, *rest: Any) -> None:
            try:
                status = [Status(rest[0])] if len(rest) > 1 else []
                function(CallInfo(_c.ncoll_call_info.from_address(info)), *status)
            except BaseException as error:
                self._thrown = self._thrown or error

        return hook

    # ------------------------------------------------------------------ memory

    def alloc(self, size: int) -> Memory:
        """Allocates zeroed memory of `size` bytes, which the network card and the ranks of the node can reach."""
        self._open()
        size = checks.size(size, "size")
        memory = ctypes.c_void_p()
        self._check(self._lib.alloc(self._handle, size, ctypes.byref(memory)))
        return Memory(self, memory.value or 0, size)

    def register(self, buffer: Any) -> Registration:
        """Registers the memory of a buffer, which can be written to. It stays until the registration ends."""
        self._open()
        view = View(buffer, "buffer", True)
        self._check(self._lib.mem_register(self._handle, view.address, view._export.len))
        return Registration(self, view)

    # ------------------------------------------------------------------ progress, facts

    def progress(self) -> int:
        """Advances all unfinished collectives, without waiting. Returns how much has moved; 0: nothing could."""
        self._open()
        events = ctypes.c_uint()
        self._check(self._lib.progress_count(self._handle, ctypes.byref(events)))
        return events.value

    def fileno(self) -> int:
        """A descriptor that a program sleeps on in a loop of its own, after arm(). selectors and select.poll() take the
        context itself."""
        self._open()
        made = ctypes.c_int(-1)
        self._check(self._lib.context_fd(self._handle, ctypes.byref(made)))
        return made.value

    def arm(self) -> bool:
        """Whether the program may sleep on the descriptor now; False: it tests its requests first, and arms again."""
        self._open()
        return self._done(self._lib.context_arm(self._handle))

    def stats(self) -> Dict[str, Any]:
        """Facts about the context: the fields of ncoll_stats."""
        self._open()
        stats = _c.ncoll_stats(size=ctypes.sizeof(_c.ncoll_stats))
        self._check(self._lib.context_stats(self._handle, ctypes.byref(stats)))
        names = [field[0] for field in _c.ncoll_stats._fields_[1:]]
        values = [(name, getattr(stats, name)) for name in names]
        return {name: value.decode() if isinstance(value, bytes) else value for name, value in values}

    def describe(self) -> str:
        """What this rank is doing, in lines of text."""
        self._open()
        room = self._lib.describe(self._handle, None, 0) + 1024
        text = ctypes.create_string_buffer(room)
        self._lib.describe(self._handle, text, room)
        return text.value.decode(errors="replace")


def version() -> str:
    """The version of the library in use."""
    return _c.library().version().decode()


def status_text(status: int) -> str:
    """The text of a status."""
    return _c.library().status_text(checks.whole(status, "status")).decode()


def reason_text(reason: int) -> str:
    """The text of a reason."""
    return _c.library().reason_text(checks.whole(reason, "reason")).decode()


def reason_name(reason: int) -> str:
    """The name of a reason, as "NCOLL_REASON_PEER_DIED"."""
    return _c.library().reason_name(checks.whole(reason, "reason")).decode()


def type_size(type: int) -> int:
    """Bytes of an element of a type that the library has defined; 0 for any other number."""
    return _c.library().type_size(type_number(type))


def radix_list(radices: Sequence[int]) -> int:
    """The value of the parameter `radix` for a list of radices, one for each round."""
    given = checks.wholes(radices, "radices")
    value = _c.library().radix_list((ctypes.c_int * max(len(given), 1))(*given), len(given))
    if value < 0:
        raise errors.of_status(value, f"radices are at most 7 numbers from 1 to 16, not {given}")
    return value
