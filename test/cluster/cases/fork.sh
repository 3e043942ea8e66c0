# The embedded default: ranks forked by the benchmark, fewer and more than there are CPUs.
# shapes: 1
# limit: 600
for ranks in 1 2 3 4 5 6 7 8; do
    ncoll-bench -n $ranks -t verbs --check -m 8:1K -i 40 --repeat 2 --json /tmp/fork.json barrier allreduce
    right /tmp/fork.json ".environment.ranks == $ranks and .environment.bootstrap == \"fork\""
done
