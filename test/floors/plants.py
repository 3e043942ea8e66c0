#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whether floors.py finds what it is for: each line of the list that is missing, and planted mistakes."""
import argparse
import pathlib
import subprocess
import sys
import tempfile

# What an object is made of, and what the report has to say.
PLANTS = [
    ('a call upward', {'lib/base/planted.c': 'int ncoll_barrier(void*, long); int planted(void);'
                                             'int planted(void) { return ncoll_barrier(0, 0); }'},
     'lib/base/planted.c uses ncoll_barrier'),
    ('a datum upward', {'algos/planted.c': 'extern int ncoll__watch; int *planted(void);'
                                           'int *planted(void) { return &ncoll__watch; }'},
     'algos/planted.c uses ncoll__watch'),
    ('a circle of files', {'lib/plan/one.c': 'int two(void); int one(void); int one(void) { return two(); }',
                           'lib/plan/two.c': 'int one(void); int two(void); int two(void) { return one(); }'},
     'files use each other in a circle: lib/plan/one.c lib/plan/two.c'),
    ('a folder of no floor', {'lib/attic/planted.c': 'int planted(void); int planted(void) { return 0; }'},
     'lib/attic/planted.c: its folder'),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--cc', default='cc')
    parser.add_argument('--floors', required=True)
    parser.add_argument('--top', type=pathlib.Path, required=True)
    parser.add_argument('archive')
    args = parser.parse_args()
    failed = 0

    def report(*options):
        command = [sys.executable, args.floors, '--top', str(args.top), *options, args.archive]
        return subprocess.run(command, capture_output=True, text=True)

    def expect(what, result, text):
        nonlocal failed
        if result.returncode != 1 or text not in result.stdout or ' 0 mistakes' in result.stdout:
            failed += 1
            print(f'plants: not found: {what}\n{result.stdout}{result.stderr}')

    with tempfile.TemporaryDirectory() as folder:
        room = pathlib.Path(folder)
        lines = (args.top / 'docs/floors.txt').read_text().splitlines()
        for line in [l for l in lines if l and not l.startswith('#')]:
            (room / 'list').write_text('\n'.join(l for l in lines if l != line))
            expect(f'{line.split()[0]} is missing', report('--list', str(room / 'list')), ' mistakes')
        for what, files, text in PLANTS:
            options = []
            for number, (source, code) in enumerate(files.items()):
                (room / 'planted.c').write_text(code)
                made = str(room / f'{number}.o')
                subprocess.run([args.cc, '-c', '-o', made, str(room / 'planted.c')], check=True)
                options += ['--plant', source, made]
            expect(what, report(*options), text)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
