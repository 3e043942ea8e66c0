# The launchers of Debian 13 on this machine, as the suite starts those of Debian 12: Open MPI 5, MPICH 4.2, PRRTE.
# shapes: native
# limit: 60
/src/ncoll/test/launchers/launchers /build/ncoll | tee /tmp/launchers.log
for name in 'mpiexec.hydra' 'mpiexec.hydra, PMI-2' 'mpirun of Open MPI 5' 'prterun'; do
    grep -qx "$name: starts" /tmp/launchers.log || fail "$name was to start"
done
