# shellcheck shell=bash
# What the cases share. run-cases sources this before each; nodes says how many guests there are.
set -euo pipefail

: "${nodes:?}"

# Ranks a node, so that each shape runs 4.
# shellcheck disable=SC2034 # the cases use it
per_node=$((4 / nodes))
# Over what they run.
transport=verbs

# sample N: how many of N jobs, drawn by chance, are run: a third of them, or with NCOLL_TEST_ALL=1 all.
sample()
{
    echo $(($1 / (${NCOLL_TEST_ALL:-0} == 1 ? 1 : 3)))
}

skip()
{
    echo "skip: $*"
    exit 77
}

fail()
{
    echo "fail: $*"
    exit 1
}

# ---------------------------------------------------------------------- launching

# under_NAME RANKS_PER_NODE COMMAND...: on all nodes.
under_prterun()
{
    local per_node=$1
    shift
    prterun --prtemca plm_ssh_agent ssh --hostfile /etc/nodes --map-by "ppr:$per_node:node:OVERSUBSCRIBE" "$@"
}

under_srun()
{
    local per_node=$1
    shift
    srun --mpi=pmix --nodes="$nodes" --ntasks-per-node="$per_node" "$@"
}

# No launcher: each rank is told its number and where rank 0 is. Rank r is on node r % nodes. The names of the
# nodes begin with $names.
names=node
under_tcp()
{
    local ranks=$(($1 * nodes)) rank status=0 pids=()
    shift
    for ((rank = 0; rank < ranks; rank++)); do
        # shellcheck disable=SC2029 # expanded here
        ssh "$names$((rank % nodes))" \
            "NCOLL_RANK=$rank NCOLL_SIZE=$ranks NCOLL_ROOT=${names}0:7000 $(printf '%q ' "$@")" &
        pids+=($!)
    done
    for rank in "${!pids[@]}"; do
        wait "${pids[rank]}" || status=$?
    done
    return "$status"
}

# on_nodes COMMAND: by a shell on each node, in which $node is its number.
on_nodes()
{
    local i
    for ((i = 0; i < nodes; i++)); do
        # shellcheck disable=SC2029 # expanded here
        ssh "$names$i" "node=$i; set -e; $1"
    done
}

# ---------------------------------------------------------------------- evidence

# RoCE frames so far: those that the switch has seen, with one guest those that its card has sent.
roce_frames()
{
    if [ "$nodes" = 1 ]; then
        cat /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts
    else
        wire stats | jq .roce
    fi
}

# bench LAUNCHER EXPRESSION [ARGUMENT...]: barrier and allreduce, checked, over $transport, all ranks under
# the launcher (a function above). Right means: the benchmark says so, no result is wrong, all nodes took
# part, no receiver was ever not ready, RoCE frames were sent, and the jq EXPRESSION about the JSON holds.
bench()
{
    local launcher=$1 expression=$2 before sent result=/tmp/result.json
    shift 2
    rm -f "$result"
    before=$(roce_frames)
    "$launcher" "$per_node" ncoll-bench -t "$transport" --check --json "$result" "$@" barrier allreduce
    sent=$(($(roce_frames) - before))
    echo "$sent RoCE frames"
    [ "$sent" -ge 1000 ] || fail "the wire was not used"
    right "$result" ".environment.nodes == $nodes and ($expression)"
}

# right RESULT EXPRESSION
right()
{
    jq --exit-status '
        (.rows | length) > 0
        and all(.rows[]; .wrong == 0 and .transport == "'"$transport"'")
        and .environment.checked
        and .environment.rnr == 0
        and ('"$2"')' "$1" >/dev/null ||
        { jq . "$1"; fail "the result is not as it should be: $2"; }
}

# A rank dies by SIGKILL: first or last, in a barrier or an allreduce. kills LAUNCHER (a function above).
# How a launcher ends a job in which one was killed is its own affair; what counts is that each of the other
# ranks has reported an error that names the victim, in time.
kills()
{
    local launcher=$1 victim collective
    for victim in 0 $((per_node * nodes - 1)); do
        for collective in barrier allreduce; do
            kill_one "$launcher" "$per_node" "$victim" --collective "$collective"
        done
    done
    # Of so many ranks the first barrier does not connect all.
    kill_one "$launcher" $((2 * per_node)) 3 --collective allreduce --when first
}

# kill_one LAUNCHER RANKS_PER_NODE VICTIM OPTION...
kill_one()
{
    local launcher=$1 ranks=$2 victim=$3 seed=${NCOLL_TEST_SEED:-$SRANDOM} log=/tmp/kill.log
    shift 3
    echo "--- $* on $((ranks * nodes)) ranks, rank $victim dies, seed $seed"
    # The death of a rank on another node shows by its silence alone.
    "$launcher" "$ranks" env NCOLL_PEER_TIMEOUT=1 /build/ncoll/test/survive/ncoll-survive -t "$transport" \
        --seed "$seed" --victim "$victim" "$@" >$log 2>&1 || true
    cat $log
    [ "$(grep -c '^survivor [0-9]*: ok' $log)" = $((ranks * nodes - 1)) ] || fail "not all survivors have reported"
}
