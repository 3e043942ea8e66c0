# RoCE on a VLAN beside the network without one: NCOLL_GID says which, by its addresses.
# shapes: 2 4
# limit: 120
trap 'on_nodes "ip link delete eth0.7"' EXIT
on_nodes 'modprobe 8021q
    ip link add link eth0 name eth0.7 type vlan id 7
    ip address add 10.78.0.$((node + 1))/24 dev eth0.7
    ip link set eth0.7 up'

on_vlan()
{
    under_prterun "$1" env NCOLL_GID=10.78.0.0/16 "${@:2}"
}

tagged()
{
    wire stats | jq .roce_tagged
}

before=$(tagged)
bench under_prterun true -m 8 -i 20 --repeat 1 # as if there were none
[ "$(tagged)" = "$before" ] || fail "frames had a tag without being asked for"
bench on_vlan true -m 8:64K -i 20 --repeat 1
[ $(($(tagged) - before)) -ge 1000 ] || fail "the VLAN was not used"
