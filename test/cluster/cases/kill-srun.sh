# A rank dies by SIGKILL under srun, told to keep the others.
# shapes: 1|2 4
# limit: 300
keep_going()
{
    # On a node with several processes Slurm's PMIx plugin ends the step all the same when it loses one of them.
    SLURM_KILL_BAD_EXIT=0 under_srun "$@" --unnoticed
}

kills keep_going
