# Groups over verbs: more than there are receives for at once, and what wrong calls on them give.
# shapes: 1
# limit: 300
groups=/build/ncoll/test/unit/test_groups

export NCOLL_TRANSPORT=verbs NCOLL_GROUP_WINDOW=64k NCOLL_TEST_GROUPS=300
for test in test_many test_from_ranks test_come_and_go test_mismatch test_one_cannot; do
    $groups $test
done
