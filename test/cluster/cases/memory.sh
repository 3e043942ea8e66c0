# Memory that the card knows: long messages sent from there, and landed there; where the node's ranks reach it
# by the card, and by mapping it.
# shapes: 1
# limit: 300
# Huge pages, of which there are none before.
echo 64 >/proc/sys/vm/nr_hugepages
for transport in shm verbs shm+verbs; do
    NEED_HUGE=1 NCOLL_TRANSPORT=$transport /build/ncoll/test/unit/test_huge
done
echo 0 >/proc/sys/vm/nr_hugepages
for transport in verbs shm+verbs; do
    for test in memory memory_calls; do
        NCOLL_TRANSPORT=$transport /build/ncoll/test/unit/test_$test
    done
done
