# shellcheck shell=bash
# What the measurements share. Sourced by each, which has set name, top and out.

: "${name:?}" "${top:?}" "${out:?}"
cluster=$top/test/cluster/cluster
failed=()

die()
{
    echo "bench $name: $*" >&2
    exit 1
}

# Numbers of all processors that this process may use: 0,1,2.
allowed_cores()
{
    local item
    for item in $(sed -n 's/^Cpus_allowed_list:\s*//p' /proc/self/status | tr , ' '); do
        seq "${item%-*}" "${item#*-}"
    done | paste -sd ,
}

# Numbers of two processors, of different cores if there are such.
two_cores()
{
    local cpu siblings seen=' ' chosen=() left=()
    for cpu in $(allowed_cores | tr , ' '); do
        siblings=$(cat "/sys/devices/system/cpu/cpu$cpu/topology/thread_siblings_list" 2>/dev/null) || siblings=$cpu
        if [[ $seen == *" $siblings "* ]]; then
            left+=("$cpu")
        else
            seen+="$siblings " chosen+=("$cpu")
        fi
    done
    chosen+=("${left[@]}")
    [ ${#chosen[@]} -ge 2 ] || die "this takes two processors"
    echo "${chosen[0]},${chosen[1]}"
}

# part NAME COMMAND...: its output goes to a file beside the results, and is shown if it fails.
part()
{
    local name_of_part=$1 begin=$SECONDS
    shift
    if "$@" >"$out/$name_of_part.log" 2>&1; then
        echo "bench $name: $name_of_part ($((SECONDS - begin)) s)" >&2
    else
        tail -n 30 "$out/$name_of_part.log" >&2
        echo "bench $name: FAILED: $name_of_part" >&2
        failed+=("$name_of_part")
    fi
}

# An empty folder for results, and the sources built where they are run: the guests' root tree.
start()
{
    rm -rf "$out"
    mkdir -p "$out"
    "$cluster" build >"$out/build.log" 2>&1 || { tail -n 30 "$out/build.log" >&2; die "FAILED: build"; }
}

# on_two_cores CORES RANKS MPI ARGUMENT...: ncoll and the MPI side by side, rank r on core r % 2: left to the
# kernel, ranks move about, and where they happen to be makes more of a difference than what is compared. Of Open
# MPI's transports only those of one node are there: tcp, which it would not use, complains of the interfaces that
# it finds.
on_two_cores()
{
    local cores=$1 ranks=$2 mpi=$3
    shift 3
    OMPI_MCA_btl=self,sm taskset -c "$cores" ncoll-bench --mpi="$mpi" -n "$ranks" --bind "$@"
}
