# ncoll, the bare exchange, and Open MPI and MPICH over UCX rc_verbs, in turns in one run: right, and not judged.
# shapes: 1
# kind: report
# limit: 600
ncoll-bench -n 2 -t verbs --raw -m 8 -i 200 barrier allreduce
ncoll-bench -n 4 -t verbs --raw -m 8 -i 200 barrier allreduce

# UCX's own datagram wire-up times out over rxe, hence tcp for that; and for rxe seven tries are infinitely many, so
# that a rank of MPICH waits for ever for one that has left. MPICH over memory that ranks share is another comparison.
export UCX_TLS=rc_verbs,tcp,self UCX_NET_DEVICES=rxe0:1,dummy0 UCX_IB_GID_INDEX=1
export UCX_RC_VERBS_RETRY_COUNT=3 UCX_RC_VERBS_TIMEOUT=0.5s OMPI_MCA_pml=ucx MPIR_CVAR_NOLOCAL=1
for mpi in openmpi mpich; do
    for ranks in 2 4; do
        before=$(roce_frames)
        ncoll-bench --mpi=$mpi -n $ranks -t verbs --check -m 8 -i 40 --warmup 2 --json /tmp/result.json barrier allreduce
        sent=$(($(roce_frames) - before))
        echo "$sent RoCE frames"
        [ "$sent" -ge 400 ] || fail "the wire was not used"
        right /tmp/result.json 'all(.rows[]; .ranks == '"$ranks"') and any(.rows[]; .subject == "mpi" and .wrong == 0)
            and all(.rows[] | select(.subject == "ncoll"); .ratio_low <= .ratio and .ratio <= .ratio_high)'
    done
done
