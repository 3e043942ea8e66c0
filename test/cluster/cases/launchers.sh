# srun without PMIx, and the mpiexec of MPICH: PMI-1, PMI-2, and Slurm's variables alone.
# shapes: 1 2 4
# limit: 600

# on_slurm KIND RANKS_PER_NODE COMMAND...
on_slurm()
{
    local kind=$1 per_node=$2
    shift 2
    srun --mpi="$kind" --nodes="$nodes" --ntasks-per-node="$per_node" "$@"
}

under_pmi1()
{
    on_slurm pmi2 "$@"
}

under_pmi2()
{
    NCOLL_BOOTSTRAP=pmi2 on_slurm pmi2 "$@"
}

under_plain()
{
    on_slurm none "$@"
}

under_hydra()
{
    local per_node=$1
    shift
    sed 's/ .*//' /etc/nodes >/tmp/hosts
    mpiexec.hydra -launcher ssh -f /tmp/hosts -ppn "$per_node" -n $((per_node * nodes)) "$@"
}

bench under_pmi1 '.environment.bootstrap == "pmi1"' -m 8:1K -i 20
bench under_pmi2 '.environment.bootstrap == "pmi2"' -m 8:1K -i 20
bench under_plain '.environment.bootstrap == "tcp"' -m 8:1K -i 20
bench under_hydra '.environment.bootstrap == "pmi1"' -m 8:1K -i 20

# Two steps of one job at once, on the same nodes: each has its own ranks.
both()
{
    local i pids=()
    for i in 1 2; do
        srun --mpi=none --overlap --nodes="$nodes" --ntasks-per-node="$per_node" \
            ncoll-bench -t "$transport" --check -m 8 -i 20 allreduce >"/tmp/step$i.log" 2>&1 &
        pids+=($!)
    done
    for i in "${pids[@]}"; do
        wait "$i" || { cat /tmp/step?.log; fail "two steps at once"; }
    done
}
export -f both fail
export nodes per_node transport
salloc --nodes="$nodes" --ntasks-per-node="$per_node" bash -c both
for i in 1 2; do
    cat /tmp/step$i.log
    grep -q ": $((per_node * nodes)) ranks on $nodes node" /tmp/step$i.log || fail "step $i has other ranks"
done
