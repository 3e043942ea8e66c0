# SPDX-License-Identifier: BSD-3-Clause
"""A picture as a gnuplot script that holds its data."""
import math

import units

# Colours that colour-blind people tell apart (Okabe and Ito 2008).
COLOURS = {
    "ncoll": "#0072B2", "persistent": "#56B4E9", "mpi": "#D55E00", "openmpi": "#D55E00", "mpich": "#009E73",
    "ucc": "#CC79A7", "gpi2": "#E69F00", "raw": "#555555", "flags": "#999999", "futex": "#BBBB88", "copy": "#A98B5D", "pull": "#7F8FB5",
    "combine": "#7FA07F", "overlap": "#8B4513",
}
OTHERS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8B4513"]
POINTS = [7, 5, 9, 11, 13]
DASHES = 4  # that gnuplot has, besides none
SHARES = ["0", "50", "90", "99", "99.9", "99.99", "99.999"]


def quoted(text):
    """In single quotes gnuplot takes every byte as it is, but for the quote."""
    return "'" + "".join(" " if c < " " else c for c in text).replace("'", "''") + "'"


def number(value):
    return f"{value:.9g}"


def head(chart, kind, picture, height):
    svg = kind == "svg"
    yield (f"set terminal svg noenhanced size 1000,{height} font 'sans-serif,14' background '#ffffff'" if svg else
           f"set terminal pngcairo noenhanced size 1500,{height * 3 // 2} font 'DejaVu Sans,16' background '#ffffff' "
           "linewidth 1.4")
    yield f"set output {quoted(picture)}"
    yield "set encoding utf8"
    yield "set tics nomirror textcolor '#333333'"
    left_out = f"   {len(chart.left_out)} lines left out" if getattr(chart, "left_out", None) else ""
    yield (f"set label 1 {quoted(chart.below + left_out)} at screen 0.012,0.025 textcolor '#777777' "
           f"font ',{11 if svg else 13}'")
    yield "set bmargin 5"
    yield f"set title {quoted(chart.title)}"


def axis(which, unit, values):
    """A logarithmic axis with some room at both ends."""
    low, high = min(values), max(values)
    if unit == "share":
        yield f"set yrange [0:{number(high * 1.02)}]"
        ticks = [0] + [-math.log10(1 - float(share) / 100) for share in SHARES[1:]]
        # gnuplot takes these for formats: hence two of each %.
        yield "set ytics (" + ", ".join(f"'{s} %%' {number(round(t, 5))}" for s, t in zip(SHARES, ticks)) + ")"
        return
    room = 1.15 if unit == "ranks" else max((high / low)**0.04, 1.08)
    yield f"set logscale {which}"
    yield f"set {which}range [{number(low / room)}:{number(high * room)}]"
    if unit != "ranks":  # of which there are no ticks that nobody has measured
        low, high = low / room, high * room
    yield f"set {which}tics (" + ", ".join(
        f"{quoted(units.text(unit, tick))} {number(tick)}" for tick in units.ticks(unit, low, high)) + ")"


def colour_of(lines, line, place):
    """By its subject, unless several lines with equal points have that."""
    alike = [other for other in lines if (other.subject, other.look) == (line.subject, line.look)]
    if line.kind == "limit" or len(alike) == 1:
        return COLOURS.get(line.subject, OTHERS[place % len(OTHERS)])
    return OTHERS[place % len(OTHERS)]


def curves(chart, lines):
    limits = 0
    for i, line in enumerate(lines):
        data, colour, title = f"$line{i}", colour_of(lines, line, i), f"title {quoted(line.name)}"
        if line.kind == "limit" and len(line.points) == 1:
            yield f"{data} using 1:2 with points pointtype 2 linecolor '{colour}' {title}"
        elif line.kind == "limit":
            style = "steps" if chart.y == "share" else "lines"
            yield (f"{data} using 1:2 with {style} dashtype {2 + limits % DASHES} linecolor '{colour}' linewidth 2 "
                   f"{title}")
        elif line.kind == "steps":
            yield f"{data} using 1:2 with steps linecolor '{colour}' linewidth 2 {title}"
        else:
            if any(None not in point for point in line.points):
                yield f"{data} using 1:2:3:4 with yerrorbars notitle pointtype 0 linecolor '{colour}' linewidth 1.6"
            yield (f"{data} using 1:2 with linespoints pointtype {POINTS[line.look % len(POINTS)]} pointsize 0.8 "
                   f"linecolor '{colour}' linewidth 2 dashtype {1 + line.look} {title}")
        limits += line.kind == "limit"


def of_chart(chart, kind, picture):
    lines = list(chart.lines.values())
    xs, ys = [], []
    yield from head(chart, kind, picture, 560)
    yield "set border 3 linecolor '#666666'"
    yield "set grid linecolor '#dddddd' linetype 1 linewidth 0.7"
    # Beside the axes: it covers nothing, however many lines there are.
    yield "set key outside right top vertical Left reverse samplen 4 spacing 1.25 width 1"
    for i, line in enumerate(lines):
        yield f"$line{i} << END"
        for x, y, low, high in line.points:
            ends = (y, y) if None in (low, high) else (low, high)
            xs.append(x)
            ys += [y, *ends]
            yield " ".join(number(v) for v in (x, y, *ends))
        yield "END"
    yield f"set xlabel {quoted(chart.x_label)}"
    yield f"set ylabel {quoted(chart.y_label)}"
    yield from axis("x", chart.x, xs)
    yield from axis("y", chart.y, ys)
    yield "plot " + ", \\\n     ".join(curves(chart, lines))


def mixed(ratio):
    """From blue (a quarter and less) over white (1) to orange (4 and more), by the logarithm of the ratio."""
    part = max(-1, min(1, math.log2(ratio) / 2))
    end = (0x4A, 0x9B, 0xD4) if part < 0 else (0xE8, 0x86, 0x4A)
    red, green, blue = (round(255 + (e - 255) * abs(part)) for e in end)
    return red << 16 | green << 8 | blue


def of_heat_map(chart, kind, picture):
    """A cell for each collective and size, coloured by the ratio."""
    yield from head(chart, kind, picture, max(350, 150 + 42 * len(chart.rows)))
    yield "$cells << END"
    for (row, column), (ratio, low, high) in chart.cells.items():
        place = f"{chart.columns.index(column)} {chart.rows.index(row)}"
        digits = 2 if ratio < 10 else 0
        interval = f"{low:.{digits}f} to {high:.{digits}f}" if None not in (low, high) else " "
        unsure = None not in (low, high) and low <= 1 <= high
        yield f'{place} {mixed(ratio)} "{ratio:.{digits}f}" "{interval}" {0x888888 if unsure else 0}'
    yield "END"
    yield "set border 0"
    yield "set tics scale 0"
    yield f"set xrange [-0.5:{len(chart.columns) - 0.5}]"
    yield f"set yrange [{len(chart.rows) - 0.5}:-0.5]"
    sizes = [units.text("bytes", size) if size else "none" for size in chart.columns]
    yield "set xtics (" + ", ".join(f"{quoted(text)} {i}" for i, text in enumerate(sizes)) + ")"
    yield "set ytics (" + ", ".join(f"{quoted(row)} {i}" for i, row in enumerate(chart.rows)) + ")"
    yield "set xlabel 'size in bytes; blue: ncoll is faster, orange: slower, grey: the interval holds 1'"
    yield "unset key"
    small = 10 if kind == "svg" else 12
    yield ("plot $cells using 1:2:($1-0.49):($1+0.49):($2-0.48):($2+0.48):3 with boxxyerror fillstyle solid noborder "
           "linecolor rgb variable, \\\n"
           "     $cells using 1:($2-0.15):4:6 with labels textcolor rgb variable, \\\n"
           f"     $cells using 1:($2+0.22):5:6 with labels font ',{small}' textcolor rgb variable")


def script(chart, kind, picture):
    make = of_heat_map if hasattr(chart, "cells") else of_chart
    return "\n".join(make(chart, kind, picture)) + "\n"
