# Memory that the card knows: long messages sent from there, and landed there.
# shapes: 1
# limit: 300
for test in memory memory_calls; do
    NCOLL_TRANSPORT=verbs /build/ncoll/test/unit/test_$test
done
