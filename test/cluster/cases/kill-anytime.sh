# A forked rank dies by SIGKILL at any moment of a short life, over verbs and beside shared memory; and nothing is left
# of it: shared memory, processes, queue pairs, completion queues, memory regions.
# shapes: 1
# limit: 400
objects()
{
    local what
    for what in qp cq mr pd; do
        rdma resource show $what | grep -c ncoll || true
    done
}

before=$(objects)
for transport in verbs shm+verbs; do
    /build/ncoll/test/survive/ncoll-anytime -t $transport -n 3 --kills "$(sample 16)" --alone
done
[ "$(objects)" = "$before" ] || { rdma resource show qp; fail "something is left on the device"; }
