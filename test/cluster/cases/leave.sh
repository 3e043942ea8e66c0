# Ranks leave as soon as they have the result of their last call: over verbs, either way of wiring, and beside shared memory.
# shapes: 1
# limit: 300
leave=/build/ncoll/test/survive/ncoll-leave

$leave -t verbs -P 2,6,8 --jobs "$(sample 20)"
$leave -t shm+verbs -P 2,6,8,12 --jobs "$(sample 20)"
NCOLL_WIRING=rdmacm $leave -t verbs -P 2,6 --jobs "$(sample 10)"
$leave -t verbs -P 6 --tcp --jobs "$(sample 6)"
