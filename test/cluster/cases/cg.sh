# Conjugate gradients over RDMA: the same residuals, bit for bit, on one rank and on four, under either launcher,
# from a file and made in place, through ncoll and through MPI.
# shapes: 1 2
# limit: 300
grid=12,11,10
ncoll-cg --poisson $grid --write /share/cg.mtx
ncoll-cg -n 1 --poisson $grid --repeat 1 --history=/tmp/one
for launcher in under_prterun under_srun; do
    for matrix in "--poisson $grid" /share/cg.mtx; do
        # shellcheck disable=SC2086 # an option and its argument
        $launcher "$per_node" env NCOLL_TRANSPORT=verbs ncoll-cg $matrix --repeat 1 --history=/tmp/four
        cmp /tmp/one /tmp/four || fail "other residuals under $launcher from $matrix"
    done
done

# beside LAUNCHER..: in turns with that MPI.
beside()
{
    "$@" --poisson $grid --with both --repeat 2 --history=/tmp/both | tee /tmp/cg.log
    grep -q 'residuals of ncoll and mpi: the same bits' /tmp/cg.log || fail "ncoll and MPI differ"
    cut -d ' ' -f 1,3 /tmp/both | cmp - /tmp/one || fail "MPI differs from one rank"
}

export NCOLL_TRANSPORT=verbs
beside mpirun.openmpi --hostfile /etc/nodes --map-by "ppr:$per_node:node:OVERSUBSCRIBE" -x NCOLL_TRANSPORT \
    --mca pml ob1 --mca btl self,sm,tcp ncoll-cg-openmpi
# UCX's datagrams time out over rxe.
[ "$nodes" != 1 ] || UCX_TLS=self,sm beside mpiexec.mpich -n 4 ncoll-cg-mpich
