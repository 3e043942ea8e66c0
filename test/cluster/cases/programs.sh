# Random programs of collectives, requests and late ranks, over verbs.
# shapes: 1
# limit: 900
programs=/build/ncoll/test/programs/ncoll-programs

$programs -t verbs --programs 40
