# srun without PMIx, and the mpiexec of MPICH: PMI-1, PMI-2, and Slurm's variables alone; the mpirun of Open MPI 5.
# shapes: 1|2 4
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

under_mpirun()
{
    local per_node=$1
    shift
    mpirun.openmpi --prtemca plm_ssh_agent ssh --hostfile /etc/nodes --map-by "ppr:$per_node:node:OVERSUBSCRIBE" "$@"
}

bench under_pmi1 '.environment.bootstrap == "pmi1"' -m 8:1K -i 20
bench under_pmi2 '.environment.bootstrap == "pmi2"' -m 8:1K -i 20
bench under_plain '.environment.bootstrap == "tcp"' -m 8:1K -i 20
bench under_hydra '.environment.bootstrap == "pmi1"' -m 8:1K -i 20

# One job of all ranks, and not a job of each: these would be right, too, and agree on the file.
mpirun.openmpi --version | grep '(Open MPI) 5' || fail "mpirun is not that of Open MPI 5"
bench under_mpirun '.environment.bootstrap == "pmix" and .environment.ranks == '$((per_node * nodes)) -m 8 -i 20 --repeat 2 | tee /tmp/mpirun.log
[ "$(grep -c '^ncoll .*, started by' /tmp/mpirun.log)" = 1 ] || fail "mpirun has started several jobs"

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
