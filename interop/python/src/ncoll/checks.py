# SPDX-License-Identifier: BSD-3-Clause
"""Arguments of a wrong kind are a TypeError that says what is expected, and what was given."""
import operator
import reprlib
from typing import Any, Iterable, List, Optional

INT = 2**31 - 1
LONG = 2**63 - 1


def shown(value: Any) -> str:
    """What was given, for an error: its class and the value itself, which may be long."""
    return "None" if value is None else f"the {value.__class__.__name__} {reprlib.repr(value)}"


def wrong(name: str, expected: str, value: Any) -> TypeError:
    return TypeError(f"{name} has to be {expected}, not {shown(value)}")


def whole(value: Any, name: str, least: int = -INT - 1, most: int = INT, expected: str = "a whole number") -> int:
    """A whole number, of Python or NumPy. Numbers that do not fit would be cut on their way to C."""
    try:
        number = operator.index(value)
    except TypeError:
        raise wrong(name, expected, value) from None
    if not least <= number <= most:
        raise ValueError(f"{name} has to be from {least} to {most}, not {number}")
    return number


def size(value: Any, name: str) -> int:
    return whole(value, name, 0, LONG)


def root_of(value: Any) -> int:
    return whole(value, "root", expected="the number of a rank")


def wholes(given: Any, name: str, least: int = -INT - 1, most: int = INT) -> List[int]:
    return [whole(x, f"an entry of {name}", least, most) for x in _listed(given, name, "a sequence of whole numbers")]


def reals(given: Any, name: str) -> List[float]:
    return [real(x, f"an entry of {name}") for x in _listed(given, name, "a sequence of numbers")]


def _listed(given: Any, name: str, expected: str) -> Iterable:
    try:
        if not isinstance(given, (str, bytes)):
            return list(given)
    except TypeError:
        pass
    raise wrong(name, expected, given)


def real(value: Any, name: str, expected: str = "a number") -> float:
    try:
        if not isinstance(value, (str, bytes, bytearray)):
            return float(value)
    except (TypeError, ValueError):
        pass
    raise wrong(name, expected, value)


def function(value: Any, name: str) -> Any:
    if not callable(value):
        raise wrong(name, "a function", value)
    return value


def function_or_none(value: Any, name: str) -> Any:
    return None if value is None else function(value, name)


def text(value: Any, name: str) -> bytes:
    if not isinstance(value, str):
        raise wrong(name, "a string", value)
    return value.encode()


def one_of(value: Any, kind: type, name: str, expected: str) -> Any:
    if not isinstance(value, kind):
        raise wrong(name, expected, value)
    return value


def one_or_none(value: Optional[Any], kind: type, name: str, expected: str) -> Any:
    return None if value is None else one_of(value, kind, name, expected)
