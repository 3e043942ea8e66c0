# Memory that the card knows: long messages sent from there, and landed there; where the node's ranks reach it
# by the card, and by mapping it.
# shapes: 1
# limit: 300
for transport in verbs shm+verbs; do
    for test in memory memory_calls; do
        NCOLL_TRANSPORT=$transport /build/ncoll/test/unit/test_$test
    done
done
