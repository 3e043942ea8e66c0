# The embedded default: ranks forked by the benchmark, fewer and more than there are CPUs; barrier and
# allreduce with each number of ranks, all collectives with some.
# shapes: 1
# limit: 600
for ranks in 1 2 3 4 5 6 7 8; do
    ncoll-bench -n $ranks -t verbs --check -m 8:1K -i 40 --repeat 2 --json /tmp/fork.json barrier allreduce
    right /tmp/fork.json ".environment.ranks == $ranks and .environment.bootstrap == \"fork\""
done
for ranks in 2 3; do
    ncoll-bench -n $ranks -t verbs --check -m 8:8 -i 10 --repeat 1 --warmup 2 --json /tmp/fork.json all
    right /tmp/fork.json ".environment.ranks == $ranks"
    ncoll-bench -n $ranks -t verbs --check -m 16K:16K -i 5 --repeat 1 --warmup 1 --json /tmp/fork.json all
    right /tmp/fork.json ".environment.ranks == $ranks"
done
ncoll-bench -n 2 -t verbs --check -m 1M:1M -i 2 --repeat 1 --warmup 1 --json /tmp/fork.json all
right /tmp/fork.json ".environment.ranks == 2"
# Ranks that wait for each other's messages leave the device's own work little of two processors: what
# is measured may be of no use then, but it comes in time.
timeout 900 ncoll-tune --costs -t verbs --budget 10 --file /tmp/costs --json /tmp/costs.json || [ $? = 1 ]
jq --exit-status '.exchanges | length == 11' /tmp/costs.json > /dev/null
