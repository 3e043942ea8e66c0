# The transport by its contract alone, in a small job and in one so large that each connection gets
# the least room, with both wirings.
# shapes: 1
# limit: 300
for wiring in direct rdmacm; do
    for job in 4 1020; do
        NCOLL_WIRING=$wiring /build/ncoll/test/unit/drive_transport verbs 4 $job
    done
done
