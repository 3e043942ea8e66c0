# A rank dies by SIGKILL under srun, told to keep the others.
# shapes: 1|2 4
# limit: 300
keep_going()
{
    # On a node with several processes Slurm's PMIx plugin ends the step all the same when it loses one of them.
    SLURM_KILL_BAD_EXIT=0 under_srun "$@" --unnoticed
}

without_pmix()
{
    srun --mpi=none --kill-on-bad-exit=0 --nodes="$nodes" --ntasks-per-node="$1" "${@:2}"
}

kills keep_going
kill_one without_pmix $((2 * per_node)) 3 --collective allreduce
