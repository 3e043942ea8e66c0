# Launched by prterun: rank, size and wiring from PMIx.
# shapes: 1|2 4
# limit: 300
bench under_prterun '.environment.bootstrap == "pmix"' -m 8:16K -i 40 --repeat 2
