# Before the project is blamed: does the card carry perftest's writes between the nodes?
# shapes: 1|2 4
# limit: 120
# shellcheck disable=SC2154 # nodes comes from guest/lib.sh
peer=node$((nodes - 1))

ibv_devinfo
ssh "$peer" ib_write_lat --ib-dev=rxe0 --gid-index=1 --iters=200 >/dev/null &
server=$!
until ssh "$peer" "ss --no-header --listening --tcp 'sport = 18515'" | grep -q LISTEN; do
    kill -0 $server || fail "the server has ended"
done
before=$(roce_frames)
ib_write_lat --ib-dev=rxe0 --gid-index=1 --iters=200 "$peer"
wait $server
[ $(($(roce_frames) - before)) -ge 400 ] || fail "RoCE frames are not counted"
