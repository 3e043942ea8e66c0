# SPDX-License-Identifier: BSD-3-Clause
"""Which pictures there are, and what is in each."""
import math
from dataclasses import dataclass, field

import units

LINES_MAX = 24


@dataclass
class Line:
    name: str
    subject: str  # decides the colour
    kind: str  # "figures": points with lines between them; "steps": a distribution; "limit": dashed
    look: int = 0  # of points and dashes: lines of one subject may differ in it
    points: list = field(default_factory=list)  # (x, y, low, high); None, None: no interval


@dataclass
class Chart:
    file: str
    title: str
    below: str
    x: str  # a unit (units.py)
    y: str
    x_label: str
    y_label: str
    lines: dict = field(default_factory=dict)
    left_out: set = field(default_factory=set)

    def line(self, name, subject, kind, look=0):
        """The line of that name, made if there is none; None: there are too many."""
        if name not in self.lines and len(self.lines) == LINES_MAX:
            self.left_out.add(name)
            return None
        return self.lines.setdefault(name, Line(name, subject, kind, look))

    def add(self, name, row, kind, x, y, interval=(None, None), look=0):
        line = self.line(name, row.subject, kind, look)
        if line is not None:
            line.points.append((x, y, *interval))

    def is_enough(self, points):
        for line in self.lines.values():
            if line.kind != "steps":
                line.points.sort(key=lambda point: point[0])
        return any(line.kind != "limit" and len(line.points) >= points for line in self.lines.values())


@dataclass
class HeatMap:
    file: str
    title: str
    below: str
    rows: list  # names of collectives
    columns: list  # sizes in bytes; 0: a barrier has none
    cells: dict  # (row, column): (ratio, low, high)


def file_name(*parts):
    name = "-".join(str(part) for part in parts if part)
    return "".join(c.lower() if c.isascii() and c.isalnum() else "-" for c in name)


def place(rows, ranks=True):
    """The parts of a file name that say on how many ranks and nodes."""
    row = rows[0]
    return (f"{row.ranks} ranks" if ranks else None, f"{row.nodes} nodes" if row.nodes > 1 else None)


def where(rows, ranks=True):
    """Where and when the first of the rows was measured."""
    row = rows[0]
    on = f"{row.ranks} rank{'s'[:row.ranks != 1]} on {row.nodes} node{'s'[:row.nodes != 1]}"
    on += f" over {row.transport}" if row.transport else ""
    known = [str(row.environment.get(key, "")) for key in ("cpu_model", "version", "date")]
    return f"{on if ranks else ''}   {known[0]}   ncoll {known[1]}   {known[2][:10]}"


def name_in(rows, row, name=None, subject=None):
    """The name of a line; with the file's, where several files have rows of its subject."""
    files = {other.file for other in rows if other.name == (subject or row.name)}
    return (name or row.name) + (f" ({row.file})" if len(files) > 1 else "")


def limit_name(row, size=""):
    """A limit with no bytes is another line than one with some: nobody has measured what is in between."""
    empty = " of no bytes" if row.bytes == 0 and row.subject == "raw" else ""
    return row.name + empty + (", " + size if size else "")


def by_size(kind, rows, limits):
    """Latency or bandwidth of one collective by size."""
    latency = kind == "latency"
    chart = Chart(file_name(kind, rows[0].what, *place(rows)), f"{rows[0].what}: {kind} by size", where(rows), "bytes",
                  "time" if latency else "rate", "size in bytes",
                  "time of a call (median)" if latency else "bus bandwidth, or bytes copied")

    def value(row):
        return row.p50 if latency else row.mb_per_s

    def interval(row):
        return (row.low, row.high) if latency else (None, None)

    for row in rows:
        if row.bytes > 0 and value(row) is not None:
            chart.add(name_in(rows, row), row, "figures", row.bytes, value(row), interval(row))
    sizes = {row.bytes for row in rows if row.bytes > 0}
    limits = [row for row in limits if value(row) is not None and len(sizes) > 1 and
              (row.bytes == 0 or min(sizes) <= row.bytes <= max(sizes))]
    for row in limits:
        if row.file == limits[0].file:  # so that each has one line
            chart.add(limit_name(row), row, "limit", row.bytes, value(row), interval(row), look=row.bytes > 0)
    for line in chart.lines.values():  # a limit that has no size goes for all sizes
        if line.kind == "limit" and [point[0] for point in line.points] == [0]:
            line.points = [(x, *line.points[0][1:]) for x in (min(sizes), max(sizes))]
    return chart if chart.is_enough(2) else None


def typical_sizes(rows):
    """The smallest, a middle and the largest size; 0 for a barrier."""
    sizes = sorted({row.bytes for row in rows if row.bytes > 0})
    if not sizes:
        return [0]
    middle = math.sqrt(sizes[0] * sizes[-1])
    return sorted({sizes[0], min(sizes, key=lambda size: abs(math.log(size / middle))), sizes[-1]})


def distribution(samples):
    """The share of calls that took no longer: of the i-th of n, i - 1/2 (Hazen), as -log10(1 - share), so that
    the slowest calls have as much room as the others. Of very many samples every few are drawn, and all of the
    slowest."""
    samples = sorted(samples)
    n, most, slowest = len(samples), 2000, 200
    stride = n // most + 1
    for i in [*range(0, n - slowest, stride), *range(max(0, n - slowest), n)]:
        yield samples[i], -math.log10((n - i - 0.5) / n)


def distributions(rows, limits, size):
    title = rows[0].what + (f" of {units.text('bytes', size)} bytes" if size else "") + ": all calls"
    chart = Chart(file_name("ecdf", rows[0].what, size, *place(rows)), title, where(rows), "time", "share",
                  "time of a call", "calls that took no longer")
    for row in [row for row in rows + limits if row.bytes == size and row.samples]:
        name = limit_name(row) if row.is_limit else name_in(rows, row)
        if row.is_limit and name in chart.lines:
            continue  # the first file that has it is enough
        for x, y in distribution(row.samples):
            chart.add(name, row, "limit" if row.is_limit else "steps", x, y)
    return chart if chart.is_enough(2) else None


def by_ranks(rows, limits):
    """Latency by ranks, of several files or runs, which share their lines."""
    chart = Chart(file_name("ranks", rows[0].what, *place(rows, ranks=False)), rows[0].what + ": latency by ranks",
                  where(rows, ranks=False), "ranks", "time", "ranks", "time of a call (median)")
    for look, size in enumerate(typical_sizes(rows)):
        size_text = units.text("bytes", size) + (" B" if size < 1024 else "") if size else ""
        for row in [row for row in rows + limits if row.bytes == size]:
            name = limit_name(row, size_text) if row.is_limit else row.name + (", " + size_text if size else "")
            chart.add(name, row, "limit" if row.is_limit else "figures", row.ranks, row.p50, (row.low, row.high),
                      row.bytes > 0 if row.is_limit else look)
    return chart if chart.is_enough(2) else None


def ratios(rows):
    """A heat map, collective by size, for each library beside ncoll."""
    libraries = sorted({row.name for row in rows if row.is_library})
    theirs = {(row.file, row.what, row.bytes, row.name): row for row in rows if row.is_library}
    for library in libraries:
        cells = {}
        for row in rows:
            other = theirs.get((row.file, row.what, row.bytes, library))
            if row.subject == "ncoll" and other is not None:
                cells[name_in(rows, row, row.what, library), row.bytes] = row.ratio_to(other)
        if cells:
            yield HeatMap(file_name("ratio", library if len(libraries) > 1 else None, *place(rows)),
                          f"time of ncoll over that of {library}", where(rows), list(dict.fromkeys(c[0] for c in cells)),
                          sorted({c[1] for c in cells}), cells)


def groups(rows, key):
    out = {}
    for row in rows:
        out.setdefault(key(row), []).append(row)
    return out.values()


def charts(rows):
    """All pictures that the rows are enough for."""
    limits = [row for row in rows if row.is_limit]
    rows = [row for row in rows if not row.is_limit]
    for of in groups(rows, lambda row: (row.what, row.ranks, row.nodes)):
        here = [row for row in limits if (row.ranks, row.nodes) == (of[0].ranks, of[0].nodes)]
        yield by_size("latency", of, here)
        yield by_size("bandwidth", of, here)
        for size in typical_sizes(of):
            yield distributions(of, here, size)
    for of in groups(rows, lambda row: (row.ranks, row.nodes)):
        yield from ratios(of)
    for of in groups(rows, lambda row: (row.what, row.nodes)):
        yield by_ranks(of, [row for row in limits if row.nodes == of[0].nodes])
