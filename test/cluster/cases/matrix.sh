# Every collective by every algorithm against a serial reference: a sample, over verbs.
# shapes: 1
# limit: 900
matrix=/build/ncoll/test/matrix/ncoll-matrix

$matrix -t verbs -P 1-8 --sample 200
