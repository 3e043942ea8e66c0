#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Holds the objects of the library against the list of floors (docs/floors.txt).

An object may use functions and data of its own floor and of floors below it. Folders, and files, must not
use each other in a circle. A circle of files that has to be is a line of the list, "circle: FILE FILE ..  why".
"""
import argparse
import pathlib
import subprocess
import sys

CIRCLES_MAX, FILES_MAX = 3, 4


def read_list(path):
    floors, circles = [], []
    for line in path.read_text().splitlines():
        words = line.split()
        if not words or line.startswith('#'):
            continue
        if words[0] == 'circle:':
            circles.append(frozenset(w for w in words[1:] if w.endswith('.c')))
        else:
            floors.append(words[0])
    floors.reverse()
    return floors, circles


def sources(top):
    """The name that Meson gives the object of each source, and the source."""
    names = {}
    for folder in ('lib', 'transport', 'bootstrap', 'algos'):
        for path in sorted((top / folder).rglob('*.c')):
            name = str(path.relative_to(top))
            names[name.replace('/', '_') + '.o'] = name
    return names


def read_symbols(nm, archive, names, planted):
    """By source: the symbols that its object defines, and those that it uses."""
    defines, uses = {}, {}

    def take(source, text):
        defines.setdefault(source, set())
        uses.setdefault(source, set())
        for line in text:
            kind, symbol = line.split()[-2:]
            (uses if kind in 'Uwv' else defines)[source].add(symbol)

    lines = {}
    command = [nm, '-A', '--extern-only', str(archive)]
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
        member, _, rest = line.rpartition(':')
        name = pathlib.Path(member.split(':')[-1]).name
        if name not in names:
            sys.exit(f'floors: {name} in {archive} is the object of no source')
        lines.setdefault(names[name], []).append(rest)
    for source, text in lines.items():
        take(source, text)
    for source, path in planted:
        take(source, subprocess.run([nm, '--extern-only', path], check=True, capture_output=True,
                                    text=True).stdout.splitlines())
    return defines, uses


def arrows(defines, uses):
    """Who uses whom, and by which symbols."""
    owner = {symbol: source for source, symbols in defines.items() for symbol in symbols}
    found = {}
    for source, symbols in uses.items():
        for symbol in symbols:
            if owner.get(symbol, source) != source:
                found.setdefault((source, owner[symbol]), []).append(symbol)
    return found


def find_circles(edges):
    """The sets of nodes that reach each other, by Tarjan's algorithm."""
    index, low, stack, circles = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(edges.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            circle = set(stack[stack.index(node):])
            del stack[stack.index(node):]
            if len(circle) > 1:
                circles.append(circle)

    sys.setrecursionlimit(10000)
    for node in sorted(edges):
        if node not in index:
            visit(node)
    return circles


def floor_of(source, floors):
    for name in (source, source.rpartition('/')[0]):
        if name in floors:
            return floors.index(name)
    return None


def check(used, defines, floors, allowed):
    wrong = []
    for source in sorted(defines):
        if floor_of(source, floors) is None:
            wrong.append(f'{source}: its folder is not on the list of floors')
    by_file, by_floor = {}, {}
    for (user, owner), symbols in sorted(used.items()):
        here, there = floor_of(user, floors), floor_of(owner, floors)
        by_file.setdefault(user, set()).add(owner)
        if here is None or there is None or here == there:
            continue
        by_floor.setdefault(here, set()).add(there)
        if here < there:
            wrong.append(f'{user} uses {", ".join(sorted(symbols))} of {owner}, which is on a higher floor')
    for circle in find_circles(by_floor):
        wrong.append('folders use each other in a circle: ' + ' '.join(sorted(floors[i] for i in circle)))
    for circle in find_circles(by_file):
        if circle not in allowed:
            wrong.append('files use each other in a circle: ' + ' '.join(sorted(circle)))
    if len(allowed) > CIRCLES_MAX or any(len(circle) > FILES_MAX for circle in allowed):
        wrong.append(f'the list has circles of more than {FILES_MAX} files, or more than {CIRCLES_MAX} of them')
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--nm', default='nm')
    parser.add_argument('--top', type=pathlib.Path, required=True, help='of the source tree')
    parser.add_argument('--list', type=pathlib.Path, help='default: docs/floors.txt')
    parser.add_argument('--page', type=pathlib.Path, help='that has to have the list in it')
    parser.add_argument('--plant', nargs=2, action='append', default=[], metavar=('SOURCE', 'OBJECT'),
                        help='one object more, as if it were made of SOURCE')
    parser.add_argument('archive', type=pathlib.Path)
    args = parser.parse_args()

    path = args.list or args.top / 'docs/floors.txt'
    floors, allowed = read_list(path)
    defines, uses = read_symbols(args.nm, args.archive, sources(args.top), args.plant)
    used = arrows(defines, uses)
    wrong = check(used, defines, floors, allowed)
    if args.page is not None:
        page = [line.strip() for line in args.page.read_text().splitlines()]
        wrong += [f'{args.page.name} lacks a line of {path.name}: {line}' for line in path.read_text().splitlines()
                  if line and not line.startswith('#') and line.strip() not in page]
    for line in wrong:
        print(f'floors: {line}')
    print(f'floors: {len(defines)} objects on {len(floors)} floors, {len(used)} arrows, {len(wrong)} mistakes')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
