# A forked rank dies by SIGKILL: every victim, collective and moment, over verbs.
# shapes: 1
# limit: 600
/build/ncoll/test/survive/ncoll-survive -n 3 -t verbs
