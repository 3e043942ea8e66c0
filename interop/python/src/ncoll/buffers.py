# SPDX-License-Identifier: BSD-3-Clause
"""Buffers of calls: objects with the buffer protocol, such as NumPy arrays, array.array, bytearray and memoryview."""
import ctypes
import sys
from typing import Any, NamedTuple, Optional, Union

from . import _c, checks
from .constants import BLOCK, DataType

FORMAT = 0x0004
WRITABLE = 0x0001
C_CONTIGUOUS = 0x0020 | 0x0010 | 0x0008

_SIGNED, _UNSIGNED = "bhilqn", "BHILQN"
_INTEGERS = {(True, 1): DataType.INT8, (True, 2): DataType.INT16, (True, 4): DataType.INT32, (True, 8): DataType.INT64,
             (False, 1): DataType.UINT8, (False, 2): DataType.UINT16, (False, 4): DataType.UINT32,
             (False, 8): DataType.UINT64}
_OTHERS = {"f": DataType.FLOAT, "d": DataType.DOUBLE, "g": DataType.LONG_DOUBLE, "e": DataType.HALF,
           "Zf": DataType.COMPLEX_FLOAT, "Zd": DataType.COMPLEX_DOUBLE, "c": DataType.UINT8, "?": DataType.UINT8}
# How user-defined operations see the elements: formats of memoryview, and dtypes of NumPy.
FORMATS = {DataType.INT8: "b", DataType.INT16: "h", DataType.INT32: "i", DataType.INT64: "q", DataType.UINT8: "B",
           DataType.UINT16: "H", DataType.UINT32: "I", DataType.UINT64: "Q", DataType.FLOAT: "f", DataType.DOUBLE: "d"}
DTYPES = {DataType.LONG_DOUBLE: "g", DataType.HALF: "e", DataType.BFLOAT16: "u2", DataType.COMPLEX_FLOAT: "c8",
          DataType.COMPLEX_DOUBLE: "c16", DataType.INT32_INT32: [("value", "i4"), ("index", "i4")],
          DataType.INT64_INT64: [("value", "i8"), ("index", "i8")],
          DataType.FLOAT_INT32: [("value", "f4"), ("index", "i4")],
          DataType.DOUBLE_INT32: [("value", "f8"), ("index", "i4"), ("unused", "i4")],
          DataType.DOUBLE_INT64: [("value", "f8"), ("index", "i8")]}


class UserType:
    """A type of the program's own, made by Context.create_type(). `dtype` is what its operations see, if NumPy is
    there."""

    def __init__(self, number: int, size: int, name: Optional[str], dtype: Any) -> None:
        self.number, self.size, self.name, self.dtype = number, size, name, dtype

    def __repr__(self) -> str:
        return f"<ncoll type {self.number}{' ' + self.name if self.name else ''} of {self.size} bytes>"


AnyType = Union[DataType, UserType]


class Typed(NamedTuple):
    """A buffer whose elements are of a type that the buffer itself does not tell: see typed()."""

    buffer: Any
    type: AnyType


def typed(buffer: Any, type: AnyType) -> Typed:
    """Says of what type the elements of a buffer are: one of the program's own, BFLOAT16, or a pair such as
    DOUBLE_INT64. Any call takes the result in place of a buffer."""
    return Typed(buffer, type)


def type_number(type: Any, name: str = "type") -> int:
    """The number of a type, which may be a plain number, too."""
    if isinstance(type, UserType):
        return type.number
    if not isinstance(type, DataType) and type.__class__ is not int:  # constants of other kinds are numbers, too
        raise checks.wrong(name, "a type, such as ncoll.DOUBLE, or one that Context.create_type() has made", type)
    return checks.whole(type, name, 0, 2**32 - 1)


def type_name(number: int) -> str:
    try:
        return DataType(number).name
    except ValueError:
        return f"number {number}, made by the program"


def type_of_format(text: str, itemsize: int) -> Optional[DataType]:
    """The type for a format of the buffer protocol (PEP 3118); None: there is none."""
    if text[:1] in ("@", "="):
        text = text[1:]
    elif text[:1] in ("<", ">", "!"):
        if itemsize > 1 and (text[0] == "<") != (sys.byteorder == "little"):
            return None
        text = text[1:]
    if text in tuple(_SIGNED) or text in tuple(_UNSIGNED):
        return _INTEGERS.get((text in _SIGNED, itemsize))
    return _OTHERS.get(text)


class View:
    """Where the elements of a buffer are. Holds the buffer's export, so that its memory stays."""

    __slots__ = ("address", "count", "number", "is_bool", "_export", "_owner", "__weakref__")

    def __init__(self, given: Any, name: str, writable: bool) -> None:
        type = None
        if isinstance(given, Typed):
            given, type = given
        self._export, self._owner = _c.Py_buffer(), given
        self._export.obj = None
        try:
            _c.get_buffer(given, ctypes.byref(self._export), C_CONTIGUOUS | FORMAT | (WRITABLE if writable else 0))
        except (BufferError, TypeError, ValueError) as error:
            raise self._refusal(given, name, writable, error) from None
        export = self._export
        text = (export.format or b"B").decode()
        self.is_bool = text.lstrip("@=<>!") == "?"
        size = export.itemsize
        if type is None:
            type = type_of_format(text, size)
            if type is None:
                raise TypeError(f"{name}: there is no type of ncoll for elements of format {text!r}; say what they are "
                                "by ncoll.typed(buffer, type), or convert them")
            self.number = int(type)
        elif isinstance(type, UserType):
            self.number, size = type.number, type.size
        else:
            self.number = type_number(type, f"the type of {name}")
            size = _c.library().type_size(self.number)
        if size == 0:
            raise ValueError(f"the type of {name} is none of the library's: {type}")
        if export.len % size != 0:
            raise ValueError(f"{name}: its {export.len} bytes are no multiple of an element of {size} bytes")
        self.address, self.count = export.buf, export.len // size

    @staticmethod
    def _refusal(given: Any, name: str, writable: bool, error: Exception) -> Exception:
        if given is None:
            return TypeError(f"{name} is None, and this rank needs a buffer there")
        try:
            view = memoryview(given)
        except TypeError:
            return TypeError(f"{name}: {given.__class__.__name__} has no buffer: give a NumPy array, array.array, "
                             "bytearray or another object with the buffer protocol")
        except (BufferError, ValueError):
            return TypeError(f"{name}: {error}")
        if not view.c_contiguous:
            return BufferError(f"{name}: its elements do not lie one after the other: copy it first "
                               "(numpy.ascontiguousarray)")
        if writable and view.readonly:
            return BufferError(f"{name}: it is read-only, and the call would write to it")
        return TypeError(f"{name}: {error}")

    def __del__(self) -> None:
        if self._export.obj:
            _c.release_buffer(ctypes.byref(self._export))


class Nothing:
    """In place of a View: a buffer that this rank does not need."""

    address: Optional[int] = None
    count, number, is_bool = 0, 0, False


AnyView = Union[View, Nothing]
_NOTHING = Nothing()


def source(given: Any, name: str = "data", needed: bool = True) -> AnyView:
    """A buffer that a call reads, if this rank needs it."""
    return View(given, name, False) if needed else _NOTHING


def target(given: Any, name: str = "out", needed: bool = True) -> AnyView:
    """A buffer that a call writes to, if this rank needs it."""
    return View(given, name, True) if needed else _NOTHING


def displacements(given: Any, n: int, name: str) -> Optional[ctypes.Array]:
    return None if given is None else numbers(given, n, name)


def numbers(given: Any, n: int, name: str) -> ctypes.Array:
    """Counts or displacements as an array of size_t, one for each rank."""
    values = checks.wholes(given, name, 0, checks.LONG)
    if len(values) != n:
        raise ValueError(f"{name} has {len(values)} numbers, and the group {n} ranks")
    return (ctypes.c_size_t * n)(*values)


def reach(counts: ctypes.Array, displs: Optional[ctypes.Array]) -> int:
    """The elements that counts and displacements reach, at most."""
    if displs is None:
        return sum(counts)
    return max((d + c for c, d in zip(counts, displs) if c), default=0)


def same_type(data: AnyView, out: AnyView) -> None:
    if data.number != out.number:
        raise TypeError("data and out have elements of different types "
                        f"({type_name(data.number)} and {type_name(out.number)})")


def has(view: AnyView, name: str, count: int, exactly: bool = True) -> None:
    if view.count != count if exactly else view.count < count:
        raise ValueError(f"{name} has {view.count} elements, and {count} are needed")


def elements(address: int, count: int, type: AnyType, size: int, readonly: bool) -> Any:
    """Memory of a user-defined operation as a NumPy array, or as a memoryview if there is no NumPy."""
    block = (ctypes.c_char * (count * size)).from_address(address)
    numpy = numpy_or_none()
    if numpy is not None:
        array = numpy.frombuffer(block, dtype=dtype_of(type, size))
        array.flags.writeable = not readonly
        return array
    view = memoryview(block).cast("B")
    if not isinstance(type, UserType) and type in FORMATS:
        view = view.cast(FORMATS[type])
    return view.toreadonly() if readonly else view


def dtype_of(type: AnyType, size: int) -> Any:
    """What NumPy calls a type."""
    if isinstance(type, UserType):
        return type.dtype if type.dtype is not None else f"V{size}"
    return FORMATS.get(type) or DTYPES[type]


def numpy_or_none() -> Any:
    """NumPy, if it is installed."""
    global _numpy
    if _numpy is False:
        try:
            import numpy
            _numpy = numpy
        except ImportError:
            _numpy = None
    return _numpy


_numpy: Any = False


def nanoseconds(timeout: Optional[float], name: str = "a time-out") -> int:
    """A time-out in seconds for C; None: no time-out."""
    if timeout is None:
        return BLOCK
    seconds = checks.real(timeout, name, "None or a number of seconds")
    if not seconds >= 0:
        raise ValueError(f"{name} has to be None or a number of seconds from 0 on, not {timeout!r}")
    return BLOCK if seconds >= 9e9 else int(seconds * 1e9)
