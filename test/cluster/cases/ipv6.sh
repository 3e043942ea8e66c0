# Nodes that have IPv6 addresses alone: bootstrap over tcp, and RoCE.
# shapes: 2 4
# limit: 120
restore()
{
    on_nodes 'ip address add 10.77.0.$((node + 1))/24 dev eth0'
    names=node
    on_nodes 'ip address delete fd77::$((node + 1))/64 dev eth0'
}

on_nodes 'ip address add fd77::$((node + 1))/64 dev eth0 nodad'
# shellcheck disable=SC2034 # under_tcp and on_nodes use it
names=six
trap restore EXIT
on_nodes 'ip -4 address flush dev eth0'

before=$(wire stats | jq .roce_ipv6)
bench under_tcp true -m 8:64K -i 20 --repeat 1
[ $(($(wire stats | jq .roce_ipv6) - before)) -ge 1000 ] || fail "IPv6 was not used"
