# SPDX-License-Identifier: BSD-3-Clause
"""ncoll-bench plot: pictures of what ncoll-bench has written as JSON, drawn by gnuplot.

    rows.py     the rows of all files
    charts.py   which pictures there are, and what is in each
    units.py    numbers with units, ticks
    gnuplot.py  a picture as a gnuplot script with its data
"""
import argparse
import os
import signal
import subprocess
import sys

from charts import charts
from gnuplot import script
from rows import BadFile, load

NAME = "ncoll-bench plot"
EXIT_USAGE = 64


class Failure(Exception):
    pass


class Parser(argparse.ArgumentParser):
    def error(self, message):
        sys.stderr.write(f"{NAME}: {message}\nTry `{NAME} --help' for more information.\n")
        sys.exit(EXIT_USAGE)

    def format_help(self):
        return super().format_help().replace("usage:", "Usage:", 1)


def parse(arguments):
    parser = Parser(prog=NAME, description="Draws what ncoll-bench --json has written: latency and bandwidth by size "
                    "beside their limits, the distribution of all calls, a map of the ratios to each other library and, "
                    "from several files, latency by ranks. Prints the names of the pictures.")
    parser.add_argument("files", metavar="FILE.json", nargs="*", help="written by ncoll-bench --json")
    parser.add_argument("-o", "--output", metavar="FOLDER", default=".",
                        help="the folder for the pictures, which is made if there is none (default: .)")
    parser.add_argument("--format", default="svg", metavar="FORMAT", help="svg (default), png or both")
    parser.add_argument("--script", action="store_true",
                        help="write gnuplot scripts with their data instead of pictures")
    options = parser.parse_args(arguments)
    if options.format not in ("svg", "png", "both"):
        parser.error(f"--format takes svg, png or both, not '{options.format}'")
    if not options.files:
        parser.error("give a file that ncoll-bench --json has written")
    options.kinds = ("svg", "png") if options.format == "both" else (options.format,)
    return options


def make_folder(folder):
    if not os.path.exists(folder):
        os.mkdir(folder)
    if not os.path.isdir(folder):
        raise NotADirectoryError(20, os.strerror(20), folder)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(13, os.strerror(13), folder)


def draw(text, picture):
    """gnuplot does not say when it cannot write."""
    if os.path.exists(picture):
        os.unlink(picture)
    try:
        done = subprocess.run(["gnuplot"], input=text.encode(), stdout=subprocess.DEVNULL, check=False)
    except FileNotFoundError:
        raise Failure("there is no gnuplot here (Debian: gnuplot-nox). --script writes what it would draw from")
    if done.returncode != 0 or os.path.getsize(picture) == 0:
        raise Failure(f"gnuplot has failed to draw {picture}")


def make(chart, options):
    for kind in options.kinds:
        picture = os.path.join(options.output, f"{chart.file}.{kind}")
        text = script(chart, kind, picture)
        if options.script:
            picture += ".gp"
            with open(picture, "w", encoding="utf-8") as file:
                file.write(text)
        else:
            draw(text, picture)
        try:
            print(picture, flush=True)
        except OSError as error:
            raise Failure(f"cannot write to standard output: {error.strerror}")


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    options = parse(sys.argv[1:])
    try:
        wanted = [chart for chart in charts(load(options.files)) if chart is not None]
        if not wanted:
            raise Failure("nothing to draw: there are neither several sizes nor ranks, nor other libraries, nor samples")
        make_folder(options.output)
        for chart in wanted:
            make(chart, options)
    except (BadFile, Failure) as error:
        sys.stderr.write(f"{NAME}: {error}\n")
    except OSError as error:
        sys.stderr.write(f"{NAME}: {error.filename or options.output}: {error.strerror}\n")
    else:
        return 0
    sys.stderr.flush()
    os._exit(1)  # what stands in the buffer of standard output could not be written


sys.exit(main())
