# A wire that loses, repeats and damages RoCE frames costs time, never a result.
# shapes: 2 4
# limit: 600
for fault in "loss 2" "duplicate 5" "corrupt 2"; do
    wire clear
    wire "$fault" roce
    bench under_prterun true -m 8:64 -i 20 --repeat 1 --warmup 0
done
wire stats | jq --exit-status '.lost > 0 and .duplicated > 0 and .corrupted > 0'
