# SPDX-License-Identifier: BSD-3-Clause
"""What the scripts of this folder share: results of ncoll-bench, and texts of tables."""
import json
import os
import statistics
import sys


def fail(text, status=1):
    """Ends the program: with a usage as it is, or with the program's name before the message."""
    print(text if status != 1 else f"{os.path.basename(sys.argv[0])}: {text}", file=sys.stderr)
    sys.exit(status)


def load(path, writer, needs_mpi=False):
    """The environment and the rows of a file that `writer` has written."""
    try:
        with open(path, encoding="utf-8") as file:
            tree = json.load(file)
    except OSError as error:
        fail(f"{path}: {error.strerror}")
    except ValueError as error:
        fail(f"{path}: {error}")
    environment, rows = (tree.get(key) if isinstance(tree, dict) else None for key in ("environment", "rows"))
    if not isinstance(environment, dict) or not isinstance(rows, list) or (needs_mpi and "mpi_version" not in environment):
        fail(f"{path}: not what {writer} writes")
    return environment, rows


def number(row, key):
    value = row.get(key)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def median(values):
    return statistics.median(values) if values else 0


def size_text(size):
    """64K and the like, where it is a whole number of them."""
    for shift, letter in ((20, "M"), (10, "K")):
        if size >= 1 << shift and size % (1 << shift) == 0:
            return f"{size >> shift}{letter}"
    return str(size)
