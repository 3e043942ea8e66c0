# Control groups of version 2 as containers have them: processor time of one core, and a cpuset of one, for two ranks, which
# have to know that they share it; hosts without huge pages, /dev/shm or /sys; huge pages.
# shapes: 1
# limit: 300
groups=/sys/fs/cgroup
oversubscribed()
{
    ncoll-bench -n 2 -t shm --no-bind -i 100 -m 8:8 --repeat 1 --json /tmp/narrow.json allreduce >/dev/null
    jq .environment.oversubscribed /tmp/narrow.json
}

mountpoint -q $groups || mount -t cgroup2 none $groups
echo "+cpu +cpuset" >$groups/cgroup.subtree_control
/build/ncoll/test/unit/test_cores | tee /tmp/cores.log
! grep -q SKIPPED /tmp/cores.log || fail "something was skipped"
[ "$(oversubscribed)" = false ] || fail "two ranks are said to share two cores"
mkdir -p $groups/narrow
echo 0 >$groups/narrow/cpuset.cpus
echo $BASHPID >$groups/narrow/cgroup.procs
[ "$(oversubscribed)" = true ] || fail "two ranks in a cpuset of one core do not know it"
echo 0-1 >$groups/narrow/cpuset.cpus
echo "150000 100000" >$groups/narrow/cpu.max
[ "$(oversubscribed)" = true ] || fail "two ranks with the time of 1.5 cores do not know it"
echo $BASHPID >$groups/cgroup.procs
rmdir $groups/narrow
