# SPDX-License-Identifier: BSD-3-Clause
"""python -m ncoll.run -n RANKS PROGRAM [ARGUMENT...]: starts the ranks of a job on this host, without a launcher, and
waits for them. PROGRAM is a script of Python (`-m MODULE` for a module), or with --exec any program that uses ncoll."""
import argparse
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from typing import List, Optional


def free_port() -> int:
    """A port that nobody listens at now."""
    with socket.socket() as s:
        s.bind(("localhost", 0))
        return s.getsockname()[1]


def start(ranks: int, command: List[str]) -> List[subprocess.Popen]:
    """Starts the processes. They find each other at a port of this host, and know each other by a secret."""
    job = dict(os.environ, NCOLL_SIZE=str(ranks), NCOLL_KEY=secrets.token_hex(16))
    job.setdefault("NCOLL_ROOT", f"localhost:{free_port()}")
    return [subprocess.Popen(command, env=dict(job, NCOLL_RANK=str(rank))) for rank in range(ranks)]


def wait(processes: List[subprocess.Popen]) -> int:
    """Waits for all ranks, and returns the first status that is not 0. What ends this process ends them."""
    def leave(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, leave)
    try:
        for process in processes:
            process.wait()
    except KeyboardInterrupt:
        return 130
    finally:
        for process in processes:
            if process.poll() is None:
                process.terminate()
        late = time.monotonic() + 5
        for process in processes:
            try:
                process.wait(max(0, late - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
    statuses = [p.returncode if p.returncode >= 0 else 128 - p.returncode for p in processes]
    return next((s for s in statuses if s), 0)


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m ncoll.run", description=__doc__)
    parser.add_argument("-n", type=int, required=True, metavar="RANKS", help="how many ranks")
    parser.add_argument("-m", dest="module", action="store_true", help="PROGRAM is a module")
    parser.add_argument("--exec", action="store_true", help="PROGRAM is no script of Python")
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    if options.n < 1:
        parser.error("-n: at least one rank")
    command = [options.program, *options.arguments]
    if not options.exec:
        command = [sys.executable, *(["-m"] if options.module else []), *command]
    try:
        return wait(start(options.n, command))
    except OSError as error:
        print(f"ncoll.run: {options.program}: {error.strerror}", file=sys.stderr)
        return 127


if __name__ == "__main__":
    sys.exit(main())
