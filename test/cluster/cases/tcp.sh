# No launcher: NCOLL_RANK, NCOLL_SIZE and NCOLL_ROOT.
# shapes: 1|2 4
# limit: 300
bench under_tcp '.environment.bootstrap == "tcp"' -m 8:1K -i 40 --repeat 2
