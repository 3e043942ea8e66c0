# A rank dies by SIGKILL under srun, told to keep the others.
# shapes: 1 2 4
# limit: 300
keep_going()
{
    SLURM_KILL_BAD_EXIT=0 under_srun "$@"
}

kills keep_going
