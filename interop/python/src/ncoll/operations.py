# SPDX-License-Identifier: BSD-3-Clause
"""Operations of reductions."""
from typing import Any, Optional, Union

from .checks import whole, wrong
from .constants import Operation

_LOGICAL = (Operation.LAND, Operation.LOR, Operation.LXOR, Operation.BAND, Operation.BOR, Operation.BXOR, Operation.MIN,
            Operation.MAX)


class UserOp:
    """An operation of the program's own, made by Context.create_op()."""

    def __init__(self, number: int, name: Optional[str], functions: Any) -> None:
        self.number, self.name, self._functions = number, name, functions

    def __repr__(self) -> str:
        return f"<ncoll operation {self.number}{' ' + self.name if self.name else ''}>"


AnyOp = Union[Operation, UserOp]


def op_number(op: AnyOp, is_bool: bool = False) -> int:
    """The number of an operation. Elements that are bool have no sums."""
    if isinstance(op, UserOp):
        return op.number
    if not isinstance(op, Operation) and type(op) is not int:  # constants of other kinds are numbers, too
        raise wrong("op", "an operation, such as ncoll.SUM, or one that Context.create_op() has made", op)
    if is_bool and op not in _LOGICAL:
        raise TypeError("elements of type bool have logical operations, MIN and MAX only: convert them to integers")
    return whole(op, "op", 0, 2**32 - 1)
