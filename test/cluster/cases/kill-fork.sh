# A forked rank dies by SIGKILL over verbs, in every collective, at every moment: one of three victims, drawn by chance,
# or with NCOLL_TEST_ALL=1 each.
# shapes: 1
# limit: 600
for victim in $(shuf --input-range=0-2 --head-count="$(sample 3)"); do
    /build/ncoll/test/survive/ncoll-survive -n 3 -t verbs --victim "$victim"
done
