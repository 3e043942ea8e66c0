# A forked rank dies by SIGKILL: every victim, collective and moment, over verbs.
# shapes: 1
# limit: 600
/build/ncoll/test/survive/ncoll-survive -n 3 -t verbs
# At any moment of a short life, and nothing is left of it: shared memory, queue pairs, memory regions.
verbs_objects()
{
    for what in qp cq mr pd; do
        rdma resource show $what | grep -c ncoll || true
    done
}

before=$(verbs_objects)
for transport in verbs shm+verbs; do
    /build/ncoll/test/survive/ncoll-anytime -t $transport -n 3 --kills 20 --alone
done
[ "$(verbs_objects)" = "$before" ] || { rdma resource show qp; fail "something is left on the device"; }
