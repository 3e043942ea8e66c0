# Reported, not judged: ncoll, the bare exchange and Open MPI over UCX rc_verbs, in turns in one run.
# shapes: 1
# kind: report
# limit: 600
report()
{
    ncoll-bench -n "$1" -t verbs --raw -m 8:8 -i 500 barrier allreduce
    # UCX's own datagram wire-up times out over rxe, hence tcp for that.
    mpirun.openmpi --map-by :OVERSUBSCRIBE -n "$1" --mca pml ucx -x UCX_TLS=rc_verbs,tcp,self \
        -x UCX_NET_DEVICES=rxe0:1,dummy0 -x UCX_IB_GID_INDEX=1 \
        ncoll-bench-mpi -t verbs -m 8:8 -i 500 barrier allreduce
}

report 2
report 4
