# Every collective by every algorithm against a serial reference, over verbs: a sample of combinations of 1 to 8
# ranks on one node, or of 2, 4 and 6 across two.
# shapes: 1 2
# limit: 900
matrix=/build/ncoll/test/matrix/ncoll-matrix

if [ "$nodes" = 1 ]; then
    $matrix -t verbs -P 1-8 --sample "$(sample 1500)" -v
else
    for ranks in 1 2 3; do
        under_prterun $ranks $matrix -t verbs --launched --sample "$(sample 500)" -v
    done
fi
