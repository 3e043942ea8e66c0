# shellcheck shell=bash
# How much of the cores' time a command has left to others, from the kernel's accounts. Sourced by what measures.
#
# /proc/stat counts for each core, in ticks of 10 ms, who has had it. What the command's own processes have not used is
# foreign: other processes, the kernel's threads, interrupts. What the hypervisor has given to others is apart: steal.
# A tick is 0.1 % of what two cores have in five seconds, so that a command should take seconds.

load_most=5 # percent of the cores' time, foreign and stolen together, that a result may have met

# load_look CORES STAT SELF: sets busy, stolen and all, in ticks of these cores (0,1) since the boot, from a copy of
# /proc/stat; and own, those of a process and of its children, and of theirs, that have ended, from one of /proc/PID/stat.
load_look()
{
    local name user nice system idle iowait irq softirq steal rest line fields
    busy=0 stolen=0 all=0
    while read -r name user nice system idle iowait irq softirq steal rest; do
        [[ $name =~ ^cpu[0-9]+$ && ,$1, == *",${name#cpu},"* ]] || continue
        busy=$((busy + user + nice + system + irq + softirq))
        stolen=$((stolen + steal))
        all=$((all + user + nice + system + irq + softirq + steal + idle + iowait))
    done <"$2"
    read -r line <"$3"
    read -r -a fields <<<"${line##*) }" # its name, which may have blanks, is before that
    own=$((fields[11] + fields[12] + fields[13] + fields[14]))
}

# load_during CORES RECORD COMMAND...: runs the command, whose processes have to end with it and to stay on these cores.
# Adds a line to the record, and sets overloaded to 1 if there was too much foreign load, else to 0.
load_during()
{
    local cores=$1 record=$2 busy stolen all own before foreign status=0
    shift 2
    load_look "$cores" "$load_stat" "$load_self"
    before=("$busy" "$stolen" "$all" "$own")
    "$@" || status=$?
    load_look "$cores" "$load_stat" "$load_self"
    stolen=$((stolen - before[1])) all=$((all - before[2]))
    foreign=$((busy - before[0] - (own - before[3])))
    foreign=$((foreign > 0 ? foreign : 0)) # cores are counted by ticks, processes by their exact times
    overloaded=$((100 * (foreign + stolen) > load_most * all))
    printf '{"ticks": %d, "foreign": %d, "steal": %d, "limit_percent": %d, "overloaded": %d}\n' \
        "$all" "$foreign" "$stolen" "$load_most" "$overloaded" >>"$record"
    return "$status"
}

load_stat=/proc/stat load_self=/proc/$$/stat
