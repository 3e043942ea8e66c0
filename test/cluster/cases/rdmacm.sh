# The second way of wiring: connections made by librdmacm.
# shapes: 1|2 4
# limit: 300
rdmacm()
{
    under_prterun "$1" env NCOLL_WIRING=rdmacm "${@:2}"
}

bench rdmacm '.environment.wiring == "rdmacm"' -m 8:1K -i 40 --repeat 2
