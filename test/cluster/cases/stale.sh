# Stale-synchronous and partial allreduces over verbs: random jobs on one node, in which each result tells what has
# gone into it. Across two nodes the benchmark, which compares the results of slack 0.
# shapes: 1 2
# limit: 300
if [ "$nodes" = 1 ]; then
    /build/ncoll/test/stale/ncoll-stale -t verbs -P 2-4 --jobs 16 -v
else
    bench under_prterun 'any(.rows[]; .subject == "slack4")' --ssp -m 8:8,16K:16K -i 40
fi
