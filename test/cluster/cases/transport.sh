# The transport by its contract alone, in a small job and in one so large that each connection gets
# the least room, with both wirings.
# shapes: 1
# limit: 600
for job in 4 1020; do
    /build/ncoll/test/unit/drive_transport verbs 4 $job
    NCOLL_WIRING=rdmacm /build/ncoll/test/unit/drive_transport verbs 2 $job
done
