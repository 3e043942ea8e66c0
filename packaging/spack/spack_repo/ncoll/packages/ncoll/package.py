# SPDX-License-Identifier: BSD-3-Clause
"""ncoll for Spack: `spack repo add packaging/spack/spack_repo/ncoll`, then `spack dev-build ncoll@0.2.0` at the top of the
sources. default_library=shared,static builds both libraries."""
from spack.package import *

try:
    from spack_repo.builtin.build_systems.meson import MesonPackage
except ImportError:  # before Spack 1.0
    pass


class Ncoll(MesonPackage):
    """Collective operations of RDMA notified writes and shared memory, for programs that bring their own runtime."""

    license("BSD-3-Clause")

    # No archive of releases is on the web: what is built are the sources at hand.
    version("0.2.0")

    variant("verbs", default=True, description="RDMA transport over libibverbs, and librdmacm")
    variant("pmix", default=True, description="start under srun --mpi=pmix, prterun and other launchers with PMIx")
    variant("hwloc", default=True, description="topology: binding, devices near a rank")
    variant("tools", default=True, description="ncoll-bench, -info, -tune, -explain, -sim, -cg, -mf-sgd")
    variant("mpi", default=False, when="+tools", description="ncoll-bench and ncoll-cg beside Open MPI or MPICH")

    depends_on("c", type="build")
    depends_on("meson@1.0:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.7:", type=("build", "run"))
    depends_on("rdma-core@39:", when="+verbs")
    depends_on("pmix@4.2:", when="+pmix")
    depends_on("hwloc@2.9:", when="+hwloc")
    depends_on("jansson", when="+tools")
    depends_on("gnuplot", type="run", when="+tools")
    depends_on("mpi", when="+mpi")

    conflicts("platform=darwin")
    conflicts("platform=windows")

    def meson_args(self):
        def part(name, variant):
            return f"-D{name}={'enabled' if self.spec.satisfies('+' + variant) else 'disabled'}"

        return [
            "-Dtests=disabled",
            "-Ducc=disabled",
            "-Dgpi2=disabled",
            "-Dprobes=disabled",
            part("verbs", "verbs"),
            part("rdmacm", "verbs"),
            part("pmix", "pmix"),
            part("hwloc", "hwloc"),
            part("tools", "tools"),
            part("mpi", "mpi"),
        ]

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def measure(self):
        """What is installed has to work at all."""
        if self.spec.satisfies("+tools"):
            Executable(self.prefix.bin.join("ncoll-bench"))("-n", "2", "-i", "20", "-m", "8,64K", "--check", "all")
