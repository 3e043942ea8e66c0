# SPDX-License-Identifier: BSD-3-Clause
"""Numbers with units, and the ticks of logarithmic axes."""
import math

UNITS = {
    "bytes": (1024, 1, "", ["", "K", "M", "G", "T"]),
    "time": (1000, 1e3, " ", ["ns", "µs", "ms", "s"]),  # of us
    "rate": (1000, 1, " ", ["MB/s", "GB/s", "TB/s"]),
}
TICKS_MAX = 9
SIZES_MAX = 12  # their texts are short


def text(unit, value):
    """4096 bytes: '4K'; 0.5 us: '500 ns'."""
    if unit not in UNITS:
        return f"{value:.4g}"
    step, scale, between, names = UNITS[unit]
    value *= scale * (1 if unit == "bytes" else 1 + 1e-9)  # 999.9999 ns by rounding is 1 us
    name = 0
    while name + 1 < len(names) and value >= step:
        value /= step
        name += 1
    return f"{value:.3g}{between}{names[name]}"


def binary(low, high, most):
    """Powers of two: each, or every second or third, so that there are not too many."""
    first, last = math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9)
    return [2.0**e for e in range(first, last + 1, max(last - first, 0) // most + 1)]


def decimal(low, high):
    """Decades and steps within them: the finest that are not too many."""
    for steps in ([1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9],
                  [1, 1.2, 1.4, 1.6, 2, 2.5, 3, 4, 5, 6, 7, 8, 9], [1, 1.5, 2, 3, 4, 5, 7], [1, 2, 5], [1, 3], [1]):
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        ticks = [step * 10.0**e for e in decades for step in steps]
        ticks = [tick for tick in ticks if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]
        if len(ticks) <= TICKS_MAX:
            break
    return ticks[:TICKS_MAX]


def ticks(unit, low, high):
    if unit == "bytes":
        return binary(low, high, SIZES_MAX)
    if unit == "ranks" and math.floor(high) - math.ceil(low) < TICKS_MAX:
        return list(range(math.ceil(low), math.floor(high) + 1))
    return binary(low, high, TICKS_MAX) if unit == "ranks" else decimal(low, high)
