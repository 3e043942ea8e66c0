# Groups over verbs: more than there are receives for at once, and what wrong calls on them give.
# shapes: 1
# limit: 300
unit=/build/ncoll/test/unit

export NCOLL_TRANSPORT=verbs NCOLL_GROUP_WINDOW=64k NCOLL_TEST_GROUPS=300
$unit/test_groups test_from_ranks
$unit/test_groups_many
for test in test_mismatch test_one_cannot; do
    $unit/test_groups_wrong $test
done
