# Shared memory within the node and verbs between nodes, which is what ranks of several nodes choose: results
# by a serial reference, and a rank that dies on either side.
# shapes: 2
# limit: 900
transport=shm+verbs
keep_going()
{
    under_prterun "$1" --runtime-options notifyerrors,recoverable "${@:2}"
}

under_prterun 2 ncoll-bench --check --json /tmp/chosen.json -m 8:16K -i 20 --repeat 2 all
right /tmp/chosen.json ".environment.nodes == 2"
# What comes to one rank of a node is seen by the other.
right /tmp/chosen.json 'any(.rows[]; .collective == "barrier" and .algorithm == "hierarchical-shared")'
right /tmp/chosen.json 'any(.rows[]; .collective == "allgather" and .algorithm == "hierarchical-packed")'
bench under_srun '.environment.bootstrap == "pmix"' -m 8:8 -i 100
bench under_tcp '.environment.bootstrap == "tcp"' -m 8:8 -i 100
for ranks in 2 3; do
    under_prterun $ranks /build/ncoll/test/matrix/ncoll-matrix -t $transport --launched --sample "$(sample 300)" -v
done
kills keep_going
# Whoever leads a node dies: it receives what its neighbour looks at, and sends what those of the other node look at.
for victim in 0 2; do
    kill_one keep_going 2 $victim --collective allreduce --when any
    kill_one keep_going 2 $victim --collective allgather --when any
done
