# 128 ranks under prterun on this machine: under one daemon, and under four that pass for nodes.
# shapes: native
# limit: 60

# many COMMAND...: starts 128 ranks, which put at most so many values as $1 says.
many()
{
    local most=$1 puts
    shift
    "$@" ncoll-bench --startup --check -m 8 -i 5 barrier allreduce >/tmp/many.log 2>&1 ||
        { cat /tmp/many.log; fail "128 ranks did not start"; }
    cat /tmp/many.log
    grep -q '^ncoll .*: 128 ranks on 1 node over shm, started by pmix' /tmp/many.log || fail "not 128 ranks"
    puts=$(sed -n 's/^bootstrap of all ranks: \([0-9]*\) puts.*/\1/p' /tmp/many.log)
    [ "${puts:-1000}" -le "$most" ] || fail "$puts puts instead of at most $most"
}

many 1 prterun --map-by :OVERSUBSCRIBE -n 128
# Of each daemon: where its board is, and three parcels; more if a rank was so late that it was named.
many 40 prterun --prtemca plm_ssh_agent /src/ncoll/test/support/ssh_here \
    --host n1:32,n2:32,n3:32,n4:32 --map-by ppr:32:node:OVERSUBSCRIBE
