# Launched by srun with Slurm's PMIx plugin.
# shapes: 1|2 4
# limit: 300
bench under_srun '.environment.bootstrap == "pmix"' -m 8:16K -i 40 --repeat 2
