#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""launch.py [--nnodes N --node-rank I --master-addr HOST --master-port PORT] --nproc-per-node N PROGRAM [ARGUMENT..]

Starts the ranks of one node, as torchrun does; run it once on each node. The first rank that fails ends the others of its
node; those of other nodes end by NCOLL_ERR_PEER. NCOLL_KEY, the same on all nodes, keeps strangers out."""
import argparse
import os
import secrets
import subprocess
import sys
import time


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nnodes", type=int, default=1)
    parser.add_argument("--node-rank", type=int, default=0)
    parser.add_argument("--nproc-per-node", type=int, required=True)
    parser.add_argument("--master-addr", default="localhost")
    parser.add_argument("--master-port", type=int, default=29500)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if not options.command:
        parser.error("no program")
    environment = dict(os.environ, NCOLL_ROOT=f"{options.master_addr}:{options.master_port}",
                       NCOLL_SIZE=str(options.nnodes * options.nproc_per_node))
    if options.nnodes == 1:
        environment.setdefault("NCOLL_KEY", secrets.token_hex(16))
    first = options.node_rank * options.nproc_per_node
    ranks = [subprocess.Popen(options.command, env=dict(environment, NCOLL_RANK=str(first + i)))
             for i in range(options.nproc_per_node)]
    while True:
        states = [rank.poll() for rank in ranks]
        failed = [s for s in states if s]
        if failed or None not in states:
            break
        time.sleep(0.02)
    for rank in ranks:
        if rank.poll() is None:
            rank.terminate()
    for rank in ranks:
        rank.wait()
    return 1 if failed else 0


sys.exit(main())
