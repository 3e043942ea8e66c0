# SPDX-License-Identifier: BSD-3-Clause
"""The rows of files that ncoll-bench --json has written."""
import json
import math
import os

LIMITS = {"raw", "flags", "futex", "copy", "pull", "combine"}  # measured beside collectives; they are no libraries
PARAMETERS = {"rate", "push", "take", "call"}  # of ncoll-sim's model: numbers, not pictures
OWN = {"ncoll", "persistent", "overlap", "entry", "exit", "strict"}  # ncoll, called in several ways
NAMES = {
    "persistent": "ncoll, persistent",
    "overlap": "ncoll, with computation",
    "entry": "ncoll, strict entry",
    "exit": "ncoll, strict exit",
    "strict": "ncoll, strict",
    "mpi": "MPI",
    "openmpi": "Open MPI",
    "mpich": "MPICH",
    "ucc": "UCC",
    "gpi2": "GPI-2",
    "raw": "raw exchange",
    "flags": "bare flags",
    "futex": "a futex",
    "copy": "memcpy",
    "pull": "copy from a peer",
    "combine": "reduction of a buffer",
}


class BadFile(Exception):
    pass


def number(row, key):
    """A number above 0; None where there is none. ValueError for anything else."""
    value = row.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise ValueError(key)
    return value


def count(row, key):
    value = row[key]
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(key)
    return value


def text(row, key):
    value = row.get(key)
    if value is not None and not isinstance(value, str):
        raise ValueError(key)
    return value


class Row:
    def __init__(self, tree, row, file):
        self.file = file
        self.environment = tree.get("environment") or {}
        self.subject = text(row, "subject")
        self.collective = text(row, "collective")
        self.distribution = text(row, "distribution")
        self.transport = text(row, "transport")
        self.bytes, self.ranks, self.nodes = (count(row, key) for key in ("bytes", "ranks", "nodes"))
        self.p50, self.low, self.high = (number(row, key) for key in ("p50_us", "p50_low_us", "p50_high_us"))
        self.mb_per_s = number(row, "mb_per_s")
        samples = row.get("samples_us") or []
        self.samples = samples if all(isinstance(s, (int, float)) and s > 0 for s in samples) else []
        self.ratios = {key: number(row, key) for key in row if key.startswith("ratio_to_")}
        if self.subject is None or self.collective is None or self.p50 is None:
            raise ValueError("subject")
        self.is_limit = self.subject in LIMITS
        self.is_library = not self.is_limit and self.subject not in OWN
        self.what = self.collective + (" " + self.distribution if self.distribution else "")
        self.name = self.own_name((tree.get("versions") or {}).get(self.subject))

    def own_name(self, version):
        """'Open MPI v5.0.7' where the file knows the version, else the subject by its usual name."""
        version = self.environment.get(self.subject + "_version", version)
        if self.is_library and isinstance(version, str) and len(version) < 40:
            return version
        return NAMES.get(self.subject, self.subject)

    def ratio_to(self, library):
        """The ratio of medians and its interval; without an interval where the file has no ratio."""
        key = "ratio_to_" + library.subject
        ratio = self.ratios.get(key)
        if ratio is None:
            return self.p50 / library.p50, None, None
        return ratio, self.ratios.get(key + "_low"), self.ratios.get(key + "_high")

    def is_drawn(self):
        """Where ranks share cores, the bare exchange spins while its peer has no core, and is no limit of anything."""
        return self.subject not in PARAMETERS and not (self.subject == "raw" and self.environment.get("oversubscribed"))


def load_file(path):
    name = os.path.basename(path)
    name = name[:-5] if name.endswith(".json") else name
    try:
        with open(path, encoding="utf-8") as file:
            tree = json.load(file)
    except OSError as error:
        raise BadFile(f"{path}: {error.strerror}")
    except json.JSONDecodeError as error:
        raise BadFile(f"{path}: line {error.lineno}: {error.msg}")
    except UnicodeDecodeError:
        raise BadFile(f"{path}: this is no text")
    rows = tree.get("rows") if isinstance(tree, dict) else None
    if not rows:
        raise BadFile(f"{path}: no rows: not what ncoll-bench --json writes")
    for i, row in enumerate(rows):
        try:
            made = Row(tree, row, name)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise BadFile(f"{path}: row {i + 1} is not as ncoll-bench --json writes it")
        if made.is_drawn():
            yield made


def load(paths):
    return [row for path in paths for row in load_file(path)]
