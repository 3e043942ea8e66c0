# Stale-synchronous and partial allreduces over verbs: random jobs on one node, in which each result tells what has
# gone into it.
# shapes: 1
# limit: 300
/build/ncoll/test/stale/ncoll-stale -t verbs -P 2-4 --jobs "$(sample 48)" -v
