"""The catalog: one entry per kernel file, with its constants, its launch numbers and its excerpts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

FOLDER = Path(__file__).parent
INCLUDE = FOLDER / "include"  # holds ws/*.cuh
ARCHS = ("sm_80", "sm_90a", "sm_100a")  # what a kernel is compiled for in the tests


@dataclass(frozen=True)
class KernelSpec:
    """Describe one kernel file: what it claims, which constants it takes and how it is launched.

    ``file`` is relative to the folder of this module and ``name`` is the ``__global__`` function in it. ``choices``
    lists the values that are taught and measured for each constant, ``defaults`` the one that is used when a call does
    not say; a constant outside ``choices`` is allowed if the kernel's ``static_assert`` lines allow it. ``maps`` names
    the matrices that it takes as tensor maps in place of pointers ("ABC"), ``counter`` says that an ``int`` in device
    memory follows, 0 at launch and at the end (:func:`ws_course.runtime.tiles.arguments` makes both).
    """

    name: str
    file: str
    title: str
    claim: str
    lesson: str
    defaults: Mapping[str, int]
    choices: Mapping[str, tuple[int, ...]]
    threads: Callable[[Mapping[str, int]], int]
    shared: Callable[[Mapping[str, int]], int]
    archs: tuple[str, ...] = ARCHS
    maps: str = ""
    counter: bool = False

    def cluster(self, **params: int) -> int:
        """Return the CTAs of one cluster, 1 for a kernel that knows none; raises as :meth:`defines`."""
        return self.defines(**params).get("CLUSTER", 1)

    @property
    def path(self) -> Path:
        """Return the path of the ``.cu`` file."""
        return FOLDER / self.file

    @cached_property
    def source(self) -> str:
        """Return the text of the ``.cu`` file."""
        return self.path.read_text(encoding="utf-8")

    def defines(self, **params: int) -> dict[str, int]:
        """Return every constant that the file needs, the defaults overridden by ``params``.

        Raises ``ValueError`` for a constant that the kernel does not have or that is not a positive integer.
        """
        for name, value in params.items():
            if name not in self.defaults:
                known = ", ".join(self.defaults)
                raise ValueError(f"{self.name} has no constant {name}: it takes {known}")
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name}={value!r}: a constant of {self.name} is an integer of at least 1")
        return {**self.defaults, **params}

    def block(self, **params: int) -> int:
        """Return the number of threads of one block; raises as :meth:`defines`."""
        return self.threads(self.defines(**params))

    def smem(self, **params: int) -> int:
        """Return the dynamic shared memory of one block in bytes; raises as :meth:`defines`."""
        return self.shared(self.defines(**params))

    def excerpt(self, anchor: str) -> str:
        """Return the lines between ``// [anchor]`` and ``// [/anchor]``; raise ``KeyError`` naming the anchors."""
        lines = self.source.splitlines()
        try:
            first, last = lines.index(f"// [{anchor}]"), lines.index(f"// [/{anchor}]")
        except ValueError:
            raise KeyError(f"{self.file} has no anchor {anchor!r}: it has {', '.join(self.anchors)}") from None
        return "\n".join(lines[first + 1 : last])

    @property
    def anchors(self) -> tuple[str, ...]:
        """Return the names that :meth:`excerpt` knows, in the order of the file."""
        return tuple(
            line[4:-1]
            for line in self.source.splitlines()
            if line.startswith("// [") and line[4] != "/" and line[-1] == "]"
        )


def _stage_bytes(constants: Mapping[str, int]) -> int:
    return 2 * 4 * constants["TILE"] ** 2  # a tile of A and one of B


_TILE = {"TILE": 64, "COMPUTE_THREADS": 128, "INTENSITY": 1, "SHARE": 1}
_TILE_CHOICES = {"TILE": (32, 64), "COMPUTE_THREADS": (128, 256), "INTENSITY": (1, 2, 4, 8), "SHARE": (1, 8)}

LADDER: tuple[KernelSpec, ...] = (
    KernelSpec(
        name="tile_00_one_buffer",
        file="tile/tile_00_one_buffer.cu",
        title="one buffer, __syncthreads",
        claim="Load time and compute time add up: while one happens, the other does not.",
        lesson="01",
        defaults=_TILE,
        choices=_TILE_CHOICES,
        threads=lambda c: c["COMPUTE_THREADS"],
        shared=lambda c: 0,
    ),
    KernelSpec(
        name="tile_01_double_buffer",
        file="tile/tile_01_double_buffer.cu",
        title="double buffer through registers",
        claim="A load that is issued early travels while the warps compute, at the price of registers that hold it.",
        lesson="02",
        defaults=_TILE,
        choices=_TILE_CHOICES,
        threads=lambda c: c["COMPUTE_THREADS"],
        shared=lambda c: 2 * _stage_bytes(c),
    ),
    KernelSpec(
        name="tile_02_cp_async",
        file="tile/tile_02_cp_async.cu",
        title="asynchronous copies, thread-scope pipeline",
        claim="cp.async keeps STAGES - 1 tiles in flight and costs no register and no waiting thread.",
        lesson="03",
        defaults={**_TILE, "STAGES": 2},
        choices={**_TILE_CHOICES, "STAGES": (2, 3, 4)},
        threads=lambda c: c["COMPUTE_THREADS"],
        shared=lambda c: c["STAGES"] * _stage_bytes(c),
    ),
    KernelSpec(
        name="tile_03_pipeline_unified",
        file="tile/tile_03_pipeline_unified.cu",
        title="block-scope pipeline, unified",
        claim="A full and an empty barrier per stage replace __syncthreads; every thread makes all four calls.",
        lesson="04",
        defaults={**_TILE, "STAGES": 2},
        choices={**_TILE_CHOICES, "STAGES": (2, 3, 4)},
        threads=lambda c: c["COMPUTE_THREADS"],
        shared=lambda c: c["STAGES"] * _stage_bytes(c),
    ),
    KernelSpec(
        name="tile_04_pipeline_roles",
        file="tile/tile_04_pipeline_roles.cu",
        title="partitioned pipelines: loader, compute and storer warps",
        claim="Each warp does one job and waits only for its neighbours: loaders run ahead, storers drain behind.",
        lesson="05",
        defaults={**_TILE, "STAGES": 2, "LOADER_WARPS": 2, "STORER_WARPS": 2},
        choices={**_TILE_CHOICES, "STAGES": (2, 3, 4), "LOADER_WARPS": (1, 2, 4), "STORER_WARPS": (1, 2, 4)},
        threads=lambda c: 32 * (c["LOADER_WARPS"] + c["STORER_WARPS"]) + c["COMPUTE_THREADS"],
        shared=lambda c: c["STAGES"] * _stage_bytes(c) + _stage_bytes(c) // 2,  # the stages and one tile of C
    ),
)


def _mapped_bytes(constants: Mapping[str, int]) -> int:
    return constants["STAGES"] * _stage_bytes(constants) + _stage_bytes(constants) // 2 + 1024  # C, and the barriers


def _clustered_bytes(constants: Mapping[str, int]) -> int:
    used = constants["STAGES"] * (_stage_bytes(constants) + _BARRIERS + 8)  # and the stage's ready barrier
    return -(-used // 16) * 16  # a struct is a multiple of its alignment


def _ring_bytes(constants: Mapping[str, int]) -> int:
    return constants["STAGES"] * (_stage_bytes(constants) + _BARRIERS)


_BARRIERS = 16  # bytes of a stage's full and empty mbarrier
_HOPPER = ("sm_90a", "sm_100a")
_RING = {**_TILE, "STAGES": 3}
_RING_CHOICES = {**_TILE_CHOICES, "STAGES": (2, 3, 4)}

HOPPER: tuple[KernelSpec, ...] = (
    KernelSpec(
        name="tile_05_mbarrier_ring",
        file="tile/tile_05_mbarrier_ring.cu",
        title="full and empty mbarriers by hand",
        claim="A block-scope pipeline is two mbarriers a stage and a state {stage, parity} for each role.",
        lesson="06",
        defaults={**_RING, "LOADER_WARPS": 2},
        choices={**_RING_CHOICES, "LOADER_WARPS": (1, 2, 4)},
        threads=lambda c: 32 * c["LOADER_WARPS"] + c["COMPUTE_THREADS"],
        shared=_ring_bytes,
        archs=_HOPPER,
    ),
    KernelSpec(
        name="tile_06_bulk_copy",
        file="tile/tile_06_bulk_copy.cu",
        title="bulk copies by one elected thread",
        claim="One thread asks for a whole tile; the full barrier counts the bytes that land.",
        lesson="07",
        defaults=_RING,
        choices=_RING_CHOICES,
        threads=lambda c: 32 + c["COMPUTE_THREADS"],
        shared=_ring_bytes,
        archs=_HOPPER,
    ),
    KernelSpec(
        name="tile_07_tma_tensor",
        file="tile/tile_07_tma_tensor.cu",
        title="tensor maps: swizzled loads, C stored by TMA",
        claim="The copy engine swizzles a tile as it lands, against bank conflicts of 4 x 8 warps, and takes C back.",
        lesson="07",
        defaults=_RING,
        choices=_RING_CHOICES,
        threads=lambda c: 32 + c["COMPUTE_THREADS"],
        shared=_mapped_bytes,
        archs=_HOPPER,
        maps="ABC",
    ),
    KernelSpec(
        name="tile_08_registers",
        file="tile/tile_08_registers.cu",
        title="roles as warpgroups, registers moved to compute",
        claim="setmaxnreg gives the registers that a loader does not need to the threads that multiply.",
        lesson="08",
        defaults={**_RING, "CTAS": 2},
        choices={**_RING_CHOICES, "CTAS": (2, 3)},
        threads=lambda c: 128 + c["COMPUTE_THREADS"],
        shared=_mapped_bytes,
        archs=_HOPPER,
        maps="ABC",
    ),
    KernelSpec(
        name="tile_09_persistent",
        file="tile/tile_09_persistent.cu",
        title="tiles from a counter, C by a storer of its own",
        claim="A CTA takes the next tile when it is ready for one, and no compute warp waits for C to leave.",
        lesson="09",
        defaults={**_RING, "CTAS": 2, "SCHEDULE": 2},
        choices={**_RING_CHOICES, "CTAS": (2, 3), "SCHEDULE": (1, 2)},
        threads=lambda c: 128 + c["COMPUTE_THREADS"],
        shared=_mapped_bytes,
        archs=_HOPPER,
        maps="ABC",
        counter=True,
    ),
    KernelSpec(
        name="tile_10_cluster_dsmem",
        file="tile/tile_10_cluster_dsmem.cu",
        title="cluster: one CTA loads B, the others receive it through DSMEM",
        claim="A tile that all CTAs of a cluster need leaves L2 once; the SM that sends it on pays.",
        lesson="10",
        defaults={**_RING, "SHARE": 8, "CLUSTER": 2},
        choices={**_RING_CHOICES, "SHARE": (8,), "CLUSTER": (1, 2, 4, 8)},
        threads=lambda c: 64 + c["COMPUTE_THREADS"],
        shared=_clustered_bytes,
        archs=_HOPPER,
    ),
    KernelSpec(
        name="tile_11_cluster_multicast",
        file="tile/tile_11_cluster_multicast.cu",
        title="cluster: one multicast copy of B for all CTAs",
        claim="TMA delivers one tile to every CTA of a cluster: L2 is asked once and no SM sends.",
        lesson="11",
        defaults={**_RING, "SHARE": 8, "CLUSTER": 2},
        choices={**_RING_CHOICES, "SHARE": (8,), "CLUSTER": (1, 2, 4, 8)},
        threads=lambda c: 32 + c["COMPUTE_THREADS"],
        shared=_clustered_bytes,
        archs=_HOPPER,
    ),
)
"""The rungs that follow the ladder in lessons 06 to 11; they need compute capability 9.0 (Hopper) or later."""

ABLATIONS: tuple[KernelSpec, ...] = (
    KernelSpec(
        name="tile_04_two_roles",
        file="tile/tile_04_two_roles.cu",
        title="partitioned pipeline: loader and compute warps only",
        claim="The loaders hide the loads; what storer warps add, or cost, is the difference to the full rung.",
        lesson="05",
        defaults={**_TILE, "STAGES": 2, "LOADER_WARPS": 2},
        choices={**_TILE_CHOICES, "STAGES": (2, 3, 4), "LOADER_WARPS": (1, 2, 4)},
        threads=lambda c: 32 * c["LOADER_WARPS"] + c["COMPUTE_THREADS"],
        shared=lambda c: c["STAGES"] * _stage_bytes(c),
    ),
    KernelSpec(
        name="tile_04_two_roles_aligned",
        file="tile/tile_04_two_roles_aligned.cu",
        title="a pipeline, tiles at a multiple of 128 bytes",
        claim="The pipeline's state lies before the tiles and pushes them to byte 48, 64 or 80.",
        lesson="06",
        defaults={**_TILE, "STAGES": 2, "LOADER_WARPS": 2},
        choices={**_TILE_CHOICES, "STAGES": (2, 3, 4), "LOADER_WARPS": (1, 2, 4)},
        threads=lambda c: 32 * c["LOADER_WARPS"] + c["COMPUTE_THREADS"],
        shared=lambda c: c["STAGES"] * _stage_bytes(c),
    ),
    KernelSpec(
        name="tile_05_barriers_first",
        file="tile/tile_05_barriers_first.cu",
        title="mbarriers by hand, before the tiles",
        claim="With three stages every 16-byte copy lands in another half of a sector than it comes from.",
        lesson="06",
        defaults={**_RING, "LOADER_WARPS": 2},
        choices={**_RING_CHOICES, "LOADER_WARPS": (1, 2, 4)},
        threads=lambda c: 32 * c["LOADER_WARPS"] + c["COMPUTE_THREADS"],
        shared=_ring_bytes,
        archs=_HOPPER,
    ),
    KernelSpec(
        name="tile_06_four_by_eight",
        file="tile/tile_06_four_by_eight.cu",
        title="bulk copies, warps of 4 x 8 threads, no swizzle",
        claim="Four rows of A in the same banks: what the swizzle of tile_07 is for.",
        lesson="07",
        defaults=_RING,
        choices=_RING_CHOICES,
        threads=lambda c: 32 + c["COMPUTE_THREADS"],
        shared=_ring_bytes,
        archs=_HOPPER,
    ),
    KernelSpec(
        name="tile_06_placement",
        file="tile/tile_06_placement.cu",
        title="bulk copies, compute warps on 1, 2 or 4 schedulers",
        claim="Four compute warps on one scheduler share its one instruction a cycle.",
        lesson="08",
        defaults={**_RING, "SCHEDULERS": 4},
        choices={**_RING_CHOICES, "COMPUTE_THREADS": (128,), "SCHEDULERS": (1, 2, 4)},
        threads=lambda c: 32 * (2 + 4 * (c["COMPUTE_THREADS"] // 32 - 1)),
        shared=_ring_bytes,
        archs=_HOPPER,
    ),
    KernelSpec(
        name="tile_07_direct_store",
        file="tile/tile_07_direct_store.cu",
        title="tensor maps for the loads, C stored from registers",
        claim="The swizzle alone; what the TMA store adds, or costs, is the difference to the full rung.",
        lesson="07",
        defaults=_RING,
        choices=_RING_CHOICES,
        threads=lambda c: 32 + c["COMPUTE_THREADS"],
        shared=lambda c: c["STAGES"] * _stage_bytes(c) + 1024,
        archs=_HOPPER,
        maps="AB",
    ),
    KernelSpec(
        name="tile_07_diverged",
        file="tile/tile_07_diverged.cu",
        title="TMA store by one lane, without the __syncwarp() after it",
        claim="A lane that goes on alone makes its warp issue the product twice; every value is right.",
        lesson="07",
        defaults=_RING,
        choices=_RING_CHOICES,
        threads=lambda c: 32 + c["COMPUTE_THREADS"],
        shared=_mapped_bytes,
        archs=_HOPPER,
        maps="ABC",
    ),
    KernelSpec(
        name="tile_10_cluster_read",
        file="tile/tile_10_cluster_read.cu",
        title="cluster: B read in place, from the leader's shared memory",
        claim="DSMEM is far: who reads a tile many times should bring it home first.",
        lesson="10",
        defaults={**_RING, "SHARE": 8, "CLUSTER": 2},
        choices={**_RING_CHOICES, "SHARE": (8,), "CLUSTER": (1, 2, 4, 8)},
        threads=lambda c: 64 + c["COMPUTE_THREADS"],
        shared=lambda c: c["STAGES"] * (_stage_bytes(c) + 2 * _BARRIERS),
        archs=_HOPPER,
    ),
)
"""Rungs with one part taken out, to see what that part is worth."""

ALL: tuple[KernelSpec, ...] = (*LADDER, *HOPPER, *ABLATIONS)

MEASURE: dict[str, Path] = {
    name: FOLDER / "measure" / f"{name}.cu"
    for name in (
        "busy",
        "compare",
        "compute_tile",
        "fma_peak",
        "latency",
        "memory_stream",
        "pass_left_racy",
        "uneven_tiles",
    )
}
"""Kernels that measuring needs: the file is the entry's name."""

MATMUL = FOLDER / "matmul" / "matmul_shared.cu"
"""The kernel with which emulators are compared; see :mod:`ws_course.numba_kernels.matmul`."""


def get(name: str) -> KernelSpec:
    """Return the kernel called ``name``; raise ``KeyError`` with the names that exist."""
    for spec in ALL:
        if spec.name == name:
            return spec
    names = ", ".join(spec.name for spec in ALL)
    raise KeyError(f"no kernel is called {name!r}: there are {names}")
