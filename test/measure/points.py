# SPDX-License-Identifier: BSD-3-Clause
"""The points of a comparison with MPIs, read from files that ncoll-bench --mpi --json has written, each of one job.

A hypervisor moves the cores that it lends, and short calls take up to three times as long for it. So where a job
has measured how far apart its cores were before and after each batch (tools/bench/measure/cores.h), rounds on cores
of one kind make a point, and those on cores of another kind another one. A round has one batch of ncoll and one of
the MPI.
"""
import random
from itertools import chain
from statistics import median_low

from results import fail, load, median, number

JOBS_LEAST = 6  # for an interval of at least 95 %
ROUNDS_LEAST = 3  # of a kind in one job
DRAWS = 1000  # of the bootstrap, of which the 25th and the 975th bound 95 %
KINDS_END_US = (0.06, 0.15, 0.6)  # of cores_kind() in tools/bench/measure/cores.h
LOOKS = 2  # before and after each batch


class Point:
    """One collective and size, on ranks of one shape, beside one MPI. cores: their kind; -1: not known."""

    def __init__(self, mpi, row, cores=-1):
        self.mpi, self.cores = mpi, cores
        self.transport, self.nodes, self.ranks = row.get("transport") or "", row["nodes"], row["ranks"]
        self.collective, self.distribution = row["collective"], row.get("distribution") or ""
        self.bytes = row["bytes"]
        self.what = f"{self.collective} {self.distribution}".strip()
        self.jobs = []  # of each: ratio, low, high, us, cores_us

    def shape(self):
        return self.transport, self.nodes, self.ranks, self.mpi, self.cores

    def place(self):
        return self.shape() + (self.collective, self.distribution, self.bytes)

    def settle(self):
        """What memory a job has got, and where its ranks were put, is its luck: the ratio is the median over jobs.
        Its interval is that of the median, whatever the distribution; of fewer than six jobs it spans the intervals
        of all, which promises less."""
        ratios, lows, highs, us, cores_us = zip(*self.jobs)
        self.ratio, self.us, self.cores_us = median(ratios), median(us), median(cores_us)
        self.low, self.high = min(lows), max(highs)
        if len(self.jobs) >= JOBS_LEAST:
            left_out = rank_of_interval(len(self.jobs))
            self.low, self.high = sorted(ratios)[left_out], sorted(ratios)[-1 - left_out]


def rank_of_interval(n):
    """How many of n sorted values are on either side of the 95 % interval of their median: fewer than that many are
    below the median with a probability of 2.5 % at most."""
    k, term = 0, 0.5**n
    total = term
    while total <= 0.025:
        k += 1
        term *= (n - k + 1) / k
        total += term
    return k - 1


def kind_of(exchange_us):
    return sum(exchange_us >= end for end in KINDS_END_US)


def ratio_of_medians(ours, theirs):
    """Of two lists of batches, with its 95 % interval: the bootstrap with batches as units, which are drawn together
    since both libraries had the same machine in a round; of a single batch, with calls as units. See
    tools/bench/compare/ratio.h. None: a median is 0."""
    rng = random.Random(1)  # the same files give the same interval
    known = {}

    def drawn():
        if len(ours) == 1:
            return [median_low(rng.choices(side[0], k=len(side[0]))) for side in (ours, theirs)]
        chosen = tuple(sorted(rng.choices(range(len(ours)), k=len(ours))))
        if chosen not in known:
            known[chosen] = [median_low(list(chain.from_iterable(side[i] for i in chosen))) for side in (ours, theirs)]
        return known[chosen]

    medians = [drawn() for _ in range(DRAWS)]
    if any(theirs <= 0 for _, theirs in medians):
        return None
    ratios = sorted(ours / theirs for ours, theirs in medians)
    ratio = median_low(list(chain.from_iterable(ours))) / median_low(list(chain.from_iterable(theirs)))
    return ratio, ratios[DRAWS // 40 - 1], ratios[DRAWS - DRAWS // 40]


class Batches:
    """The batches of a row, and what was looked at before and after each. ValueError: the row is damaged."""

    def __init__(self, row):
        batch, samples, looks = (row.get(key) for key in ("batch", "samples_us", "cores_us"))
        for values, least in ((samples, 0), (looks, 1e-3)):
            if not isinstance(values, list) or not all(isinstance(v, (int, float)) and v >= least for v in values):
                raise ValueError
        if not isinstance(batch, int) or batch <= 0:
            raise ValueError
        self.n = min(len(samples) // batch, len(looks) // LOOKS)
        if self.n == 0:
            raise ValueError
        self.samples = [sorted(samples[i * batch:(i + 1) * batch]) for i in range(self.n)]
        self.looks = [looks[i * LOOKS:(i + 1) * LOOKS] for i in range(self.n)]


class Points:
    def __init__(self):
        self.of = {}
        self.rounds = self.left_out = 0  # rounds in all, and those that are in no point
        self.environment = {}

    def add(self, mpi, row, cores, job):
        point = Point(mpi, row, cores)
        self.of.setdefault(point.place(), point).jobs.append(job)

    def add_by_kind(self, mpi, row, mpi_row):
        ours, theirs = Batches(row), Batches(mpi_row)
        rounds = min(ours.n, theirs.n)
        of_kind = {}
        for i in range(rounds):
            kinds = {kind_of(look) for look in ours.looks[i] + theirs.looks[i]}
            if len(kinds) == 1:  # else the cores moved meanwhile
                of_kind.setdefault(kinds.pop(), []).append(i)
        self.rounds += rounds
        self.left_out += rounds
        for kind, chosen in of_kind.items():
            mine, others = ([side.samples[i] for i in chosen] for side in (ours, theirs))
            ratio = ratio_of_medians(mine, others) if len(chosen) >= min(ROUNDS_LEAST, rounds) else None
            if ratio is None:
                continue
            looks = list(chain.from_iterable(ours.looks[i] for i in chosen))
            self.add(mpi, row, kind, (*ratio, median_low(list(chain.from_iterable(mine))), median_low(looks)))
            self.left_out -= len(chosen)

    def read(self, path):
        self.environment, rows = load(path, "ncoll-bench --mpi", needs_mpi=True)
        mpi, found = self.environment["mpi_version"], False
        theirs = {Point(mpi, row).place(): row for row in reversed(rows) if row.get("subject") == "mpi"}
        for row in rows:
            if row.get("subject") != "ncoll" or number(row, "ratio_low") is None:
                continue
            found = True
            if not isinstance(row.get("cores_us"), list):
                self.add(mpi, row, -1, (row["ratio"], row["ratio_low"], row["ratio_high"], row["p50_us"], 0))
                continue
            try:
                self.add_by_kind(mpi, row, theirs.get(Point(mpi, row).place(), {}))
            except ValueError:
                fail(f"{path}: damaged: batch, cores_us or samples_us of a row are not what ncoll-bench writes")
        if not found:
            fail(f"{path}: has no ratio with an interval")

    def settled(self):
        """All points, by shape, collective and size. A point of fewer than six jobs is dropped where six or more
        have seen the same on cores of another kind."""
        def rest(point):
            return [value for i, value in enumerate(point.place()) if i != 4]

        points = [point for point in self.of.values() if len(point.jobs) >= JOBS_LEAST or
                  not any(len(other.jobs) >= JOBS_LEAST and rest(other) == rest(point) for other in self.of.values())]
        points.sort(key=lambda p: p.place()[4:])
        points.sort(key=lambda p: p.mpi, reverse=True)  # Open MPI first
        points.sort(key=lambda p: p.place()[:3])  # verbs last
        for point in points:
            point.settle()
        return points


def read(paths):
    points = Points()
    for path in paths:
        points.read(path)
    return points
