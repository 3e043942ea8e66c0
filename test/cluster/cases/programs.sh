# Random programs of collectives, requests and late ranks, over verbs.
# shapes: 1
# limit: 900
programs=/build/ncoll/test/programs/ncoll-programs

$programs -t verbs -P 1-4 --programs "$(sample 475)" -v
$programs -t verbs -P 5-8 --programs "$(sample 25)" -v
