"""Each primitive alone: what it computes, and what is said when it is used wrongly."""

from __future__ import annotations

import numpy as np
import pytest

from ws_course.runtime import Kernel, Result

SEEDS = 3
f4, i4, u4 = np.float32, np.int32, np.uint32


def run(source: str, *arrays, entry: str = "k", seeds: int = SEEDS, **options) -> Result:
    options = {"grid": 1, "block": 32, "timeout": 20.0, **options}
    return Kernel(source.strip(), entry, "k.cu").run(*arrays, backend="emulator", seeds=seeds, **options)


def right(source: str, *arrays, **options) -> None:
    result = run(source, *arrays, **options)
    assert result.ok, str(result)


def wrong(kinds: str, source: str, *arrays, line: str = "", **options) -> Result:
    """Run a faulty kernel: each schedule must report one of the kinds, at the line that contains the text."""
    result = run(source, *arrays, **options)
    fitting = [f for f in result.faults if f.kind.value in kinds.split()]
    assert {s for f in fitting for s in f.seeds} == set(result.seeds), str(result)
    lines = source.strip().splitlines()
    assert any(line in lines[f.line - 1] for f in fitting), str(result)
    return result


def without(source: str, *pieces: str) -> str:
    """Return the source with one occurrence of each piece taken out; it must be there."""
    for piece in pieces:
        assert piece in source, piece
        source = source.replace(piece, "", 1)
    return source


def normal(*shape: int, seed: int = 7) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(f4)


# ---- shuffles, votes, matches, reductions --------------------------------------------------------------------------


def test_votes_matches_and_reductions():
    source = """
    extern "C" __global__ void k(const int* x, unsigned* y) {
      const unsigned all = 0xffffffffu;
      int lane = threadIdx.x, v = x[lane], same;
      y[lane] = __ballot_sync(all, v > 2);
      y[32 + lane] = __any_sync(all, v == 3) + 2 * __all_sync(all, v < 10);
      y[64 + lane] = __match_any_sync(all, v);
      y[96 + lane] = __match_all_sync(all, v / 100, &same) + same;
      y[128 + lane] = __reduce_add_sync(all, v);
      y[160 + lane] = __reduce_max_sync(all, v) * 16 + __reduce_min_sync(all, v);
      y[192 + lane] = __reduce_xor_sync(all, unsigned(v));
      y[224 + lane] = __popc(__activemask());
    }
    """
    x = np.random.default_rng(3).integers(0, 5, 32).astype(i4)
    y = np.zeros(256, u4)
    right(source, x, y)
    bits = 1 << np.arange(32, dtype=np.uint64)
    match = [int(bits[x == v].sum()) for v in x]
    expected = [
        int(bits[x > 2].sum()),
        int((x == 3).any()) + 2,
        match,
        0,  # all lanes match: the full mask plus 1 wraps
        x.sum(),
        x.max() * 16 + x.min(),
        np.bitwise_xor.reduce(x),
    ]
    for part, want in zip(y.reshape(8, 32), expected, strict=False):
        np.testing.assert_array_equal(part, np.broadcast_to(np.array(want, dtype=np.uint64), 32))
    assert (y[224:] >= 1).all()


def test_shuffles_stay_within_their_width():
    source = """
    extern "C" __global__ void k(const double* x, double* y) {
      double v = x[threadIdx.x];
      y[threadIdx.x] = __shfl_up_sync(~0u, v, 3);
      y[32 + threadIdx.x] = __shfl_down_sync(~0u, v, 2, 8);
      y[64 + threadIdx.x] = __shfl_xor_sync(~0u, v, 5);
      y[96 + threadIdx.x] = __shfl_sync(~0u, v, 9, 8);
    }
    """
    x, y, i = np.arange(32.0), np.zeros(128), np.arange(32)
    right(source, x, y)
    np.testing.assert_array_equal(y[:32], np.where(i < 3, i, i - 3))
    np.testing.assert_array_equal(y[32:64], np.where(i % 8 < 6, i + 2, i))
    np.testing.assert_array_equal(y[64:96], i ^ 5)
    np.testing.assert_array_equal(y[96:], i // 8 * 8 + 1)


def test_shuffle_with_lanes_in_different_calls():
    source = """
    extern "C" __global__ void k(int* y) {
      int v = threadIdx.x;
      if (v < 16) y[v] = __shfl_xor_sync(0xffffffffu, v, 1);
      else y[v] = __ballot_sync(0xffffffffu, v);
    }
    """
    wrong("illegal-collective", source, np.zeros(32, i4), line="_sync(0xffffffffu")


def test_coalesced_threads_and_partitions():
    source = """
    #include <cooperative_groups.h>
    #include <cooperative_groups/reduce.h>
    namespace cg = cooperative_groups;
    extern "C" __global__ void k(const int* x, int* y) {
      auto block = cg::this_thread_block();
      auto warp = cg::tiled_partition<32>(block);
      auto tile = cg::tiled_partition<4>(warp);
      y[block.thread_rank()] = 100 * tile.meta_group_rank() + 10 * tile.thread_rank() + tile.size();
      auto odd = cg::binary_partition(warp, x[threadIdx.x] % 2 == 1);
      y[64 + threadIdx.x] = cg::reduce(odd, x[threadIdx.x], cg::plus<int>());
      auto kind = cg::labeled_partition(warp, x[threadIdx.x]);
      y[128 + threadIdx.x] = kind.size();
    }
    """
    x = np.random.default_rng(1).integers(0, 4, 64).astype(i4)
    y = np.zeros(192, i4)
    right(source, x, y, block=64)
    i = np.arange(64)
    np.testing.assert_array_equal(y[:64], 100 * (i // 4) + 10 * (i % 4) + 4)
    halves = x.reshape(2, 32)
    np.testing.assert_array_equal(y[64:128], [halves[k // 32][halves[k // 32] % 2 == x[k] % 2].sum() for k in i])
    np.testing.assert_array_equal(y[128:], [(halves[k // 32] == x[k]).sum() for k in i])


def test_elect_sync_chooses_one_lane():
    source = """
    #include <cuda/ptx>
    extern "C" __global__ void k(int* y) {
      if (cuda::ptx::elect_sync(~0u)) y[threadIdx.x / 32] = threadIdx.x % 32;
      if (threadIdx.x % 32 < 20) { if (cuda::ptx::elect_sync(0xfffffu)) y[2 + threadIdx.x / 32] += 1; }
    }
    """
    y = np.zeros(4, i4)
    right(source, y, block=64)
    assert (y[2:] == 1).all() and (y[:2] >= 0).all()


# ---- matrices between registers and shared memory ------------------------------------------------------------------

MATRIX = """
#include <cuda_bf16.h>
extern "C" __global__ void k(const unsigned short* x, unsigned* y, unsigned short* z) {
  __shared__ alignas(16) unsigned short in[32][8];
  __shared__ alignas(16) unsigned short out[32][8];
  int lane = threadIdx.x;
  for (int i = 0; i < 8; ++i) in[31 - lane][i] = x[(31 - lane) * 8 + i];
  __syncwarp();
  unsigned r[4];
  unsigned at = __cvta_generic_to_shared(&in[lane]), to = __cvta_generic_to_shared(&out[lane]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4TRANS.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
  for (int i = 0; i < 4; ++i) y[lane * 4 + i] = r[i];
  asm volatile("stmatrix.sync.aligned.m8n8.x4TRANS.shared.b16 [%0], {%1, %2, %3, %4};"
               :: "r"(to), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
  __syncwarp();
  for (int i = 0; i < 8; ++i) z[lane * 8 + i] = out[lane][i];
}
"""


@pytest.mark.parametrize("transposed", [False, True])
def test_ldmatrix_and_stmatrix(transposed):
    """Lane 4 i + j holds elements (i, 2 j) and (i, 2 j + 1) of each 8 x 8 matrix (PTX ISA, "ldmatrix")."""
    x = np.arange(256, dtype=np.uint16)
    y, z = np.zeros(128, u4), np.zeros(256, np.uint16)
    right(MATRIX.replace("TRANS", ".trans" if transposed else ""), x, y, z)
    matrices = x.reshape(4, 8, 8)
    if transposed:
        matrices = matrices.transpose(0, 2, 1)
    want = np.zeros((32, 4), u4)
    for lane in range(32):
        for m in range(4):
            low, high = matrices[m, lane // 4, lane % 4 * 2 : lane % 4 * 2 + 2].astype(u4)
            want[lane, m] = low | high << 16
    np.testing.assert_array_equal(y.reshape(32, 4), want)
    np.testing.assert_array_equal(z, x)


def test_ldmatrix_reads_what_other_lanes_wrote():
    wrong(
        "race",
        without(MATRIX, "__syncwarp();").replace("TRANS", ""),
        np.zeros(256, np.uint16),
        np.zeros(128, u4),
        np.zeros(256, np.uint16),
    )


# ---- named barriers ------------------------------------------------------------------------------------------------

HANDOVER = """
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float s[32];
  int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    s[lane] = x[lane];
    asm volatile("bar.arrive 3, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 3, 64;" ::: "memory");
    y[lane] = s[31 - lane];
  }
}
"""


def test_named_barriers():
    x, y = normal(32), np.zeros(32, f4)
    right(HANDOVER, x, y, block=64)
    np.testing.assert_array_equal(y, x[::-1])


@pytest.mark.parametrize(
    "old, new, kinds",
    [
        ("bar.arrive 3, 64", "bar.arrive 4, 64", "deadlock"),
        ("bar.sync 3, 64", "bar.arrive 3, 64", "race uninitialised-read"),
        ("bar.sync 3, 64", "bar.sync 3, 32", "illegal-collective race"),
        ("bar.arrive 3, 64", "bar.arrive 3, 96", "illegal-collective"),
        ("bar.arrive 3, 64", "bar.arrive 16, 64", "barrier-misuse"),
        ("bar.arrive 3, 64", "bar.arrive 3, 33", "illegal-collective"),
    ],
)
def test_named_barrier_mistakes(old, new, kinds):
    assert old in HANDOVER
    wrong(kinds, HANDOVER.replace(old, new), normal(32), np.zeros(32, f4), block=64)


def test_syncthreads_with_a_vote():
    source = """
    extern "C" __global__ void k(int* y) {
      int odd = __syncthreads_count(threadIdx.x % 2);
      int any = __syncthreads_or(threadIdx.x == 70), all = __syncthreads_and(1);
      y[threadIdx.x] = odd + 1000 * (any != 0) + 2000 * (all != 0);
    }
    """
    y = np.zeros(96, i4)
    right(source, y, block=96)
    assert (y == 48 + 1000 + 2000).all() or (y == 48 + 2000).all()
    assert (y == 3048).all()


# ---- mbarriers and the asynchronous proxy --------------------------------------------------------------------------

BULK = """
#include <cuda/ptx>
namespace ptx = cuda::ptx;
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ alignas(16) float s[64];
  __shared__ alignas(16) float out[64];
  __shared__ uint64_t bar;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&bar, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, 256);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s, x, 256, &bar);
  }
  while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {}
  out[threadIdx.x] = 2 * s[63 - threadIdx.x];
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, y, out, 256);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
  }
}
"""


def test_bulk_copies_there_and_back():
    x, y = normal(64), np.zeros(64, f4)
    right(BULK, x, y, block=64)
    np.testing.assert_array_equal(y, 2 * x[::-1])


@pytest.mark.parametrize(
    "old, new, kinds, line",
    [
        ("&bar, 256);\n    ptx::cp", "&bar, 240);\n    ptx::cp", "deadlock", "try_wait"),
        ("&bar, 256);\n    ptx::cp", "&bar, 512);\n    ptx::cp", "deadlock", "try_wait"),
        ("s, x, 256", "s, x + 1, 252", "out-of-bounds", "cp_async_bulk"),
        ("s, x, 256", "s, x + 1, 256", "out-of-bounds", "cp_async_bulk"),
        ("s, x, 256", "s, x + 4, 256", "out-of-bounds", "cp_async_bulk"),
        ("&bar, 0)) {}", "&bar, 1)) {}", "race uninitialised-read", "out[threadIdx.x]"),
        ("mbarrier_init(&bar, 1)", "mbarrier_init(&bar, 2)", "deadlock", "try_wait"),
        ("  ptx::fence_proxy_async(ptx::space_shared);\n", "", "missing-proxy-fence", "y, out, 256"),
        ("  }\n  __syncthreads();\n  if", "  }\n  if", "race", ""),
        ("    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());\n", "", "dsmem-after-exit", "y, out, 256"),
    ],
)
def test_bulk_copy_mistakes(old, new, kinds, line):
    assert old in BULK
    wrong(kinds, BULK.replace(old, new, 1), normal(64), np.zeros(64, f4), block=64, line=line)


CP_ASYNC = """
#include <cuda_pipeline.h>
extern "C" __global__ void k(const float* x, float* y, int n) {
  __shared__ alignas(16) float s[128];
  int at = 4 * threadIdx.x, valid = min(max(n - at, 0), 4);
  __pipeline_memcpy_async(&s[at], &x[valid ? at : 0], 16, 16 - 4 * valid);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncwarp();
  for (int i = 0; i < 4; ++i) y[at + i] = s[127 - at - i];
}
"""


def test_pipeline_primitives_fill_with_zeros():
    x, y = normal(101), np.full(128, np.nan, f4)
    right(CP_ASYNC, x, y, i4(101))
    np.testing.assert_array_equal(y[::-1], np.r_[x, np.zeros(27, f4)])
    wrong("race", CP_ASYNC.replace("wait_prior(0)", "wait_prior(1)"), x, y, i4(101), line="s[127 - at")
    wrong("race", without(CP_ASYNC, "  __syncwarp();\n"), x, y, i4(101), line="s[127 - at")
    wrong("out-of-bounds", CP_ASYNC.replace("16 - 4 * valid", "0"), x, y, i4(101), line="memcpy_async")


def test_group_copies_wait_for_all_but_the_newest():
    source = """
    #include <cooperative_groups.h>
    #include <cooperative_groups/memcpy_async.h>
    namespace cg = cooperative_groups;
    extern "C" __global__ void k(const float* x, float* y) {
      __shared__ alignas(16) float s[2][64];
      auto block = cg::this_thread_block();
      cg::memcpy_async(block, s[0], x, sizeof s[0]);
      cg::memcpy_async(block, s[1], x + 64, cuda::aligned_size_t<16>(sizeof s[1]));
      cg::wait_prior<1>(block);
      y[threadIdx.x] = s[0][63 - threadIdx.x];
      cg::wait(block);
      y[64 + threadIdx.x] = s[1][63 - threadIdx.x];
    }
    """.replace("namespace cg =", "#include <cuda/barrier>\n    namespace cg =")
    x, y = normal(128), np.zeros(128, f4)
    right(source, x, y, block=64)
    np.testing.assert_array_equal(y.reshape(2, 64), x.reshape(2, 64)[:, ::-1])
    wrong("race", without(source, "cg::wait(block);"), x, y, block=64, line="s[1][63")
    wrong("race", source.replace("wait_prior<1>", "wait_prior<2>"), x, y, block=64, line="s[0][63")
    alone = source.replace("cg::memcpy_async(block, s[0]", "if (threadIdx.x == 0) cg::memcpy_async(block, s[0]")
    wrong("illegal-collective race uninitialised-read", alone, x, y, block=64)


def test_setmaxnreg_moves_registers_between_warpgroups():
    source = """
    #include <cuda/ptx>
    extern "C" __global__ void k(int* y) {
      if (threadIdx.x < 128) cuda::ptx::setmaxnreg_dec(cuda::ptx::n32_t<LOW>());
      else cuda::ptx::setmaxnreg_inc(cuda::ptx::n32_t<HIGH>());
      if (threadIdx.x % 128 == 0) y[threadIdx.x / 128] = 1;
    }
    """
    y = np.zeros(3, i4)
    kernel = source.replace("LOW", "24").replace("HIGH", "240")
    right(kernel, y, block=384)
    assert y.all()
    result = wrong(
        "deadlock launch-error",
        source.replace("LOW", "104").replace("HIGH", "240"),
        y,
        block=384,
        line="setmaxnreg_inc",
    )
    assert "register" in str(result)
    wrong("launch-error", source.replace("LOW", "25").replace("HIGH", "240"), y, block=384, line="setmaxnreg_dec")


# ---- clusters ------------------------------------------------------------------------------------------------------

CLUSTER = """
#include <cooperative_groups.h>
#include <cuda/ptx>
namespace ptx = cuda::ptx;
namespace cg = cooperative_groups;
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ alignas(16) float s[32];
  __shared__ uint64_t bar;
  auto cluster = cg::this_cluster();
  const int rank = cluster.block_rank(), blocks = cluster.num_blocks(), lane = threadIdx.x;
  if (lane == 0) {
    ptx::mbarrier_init(&bar, %(count)s);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  cluster.sync();
  %(body)s
  while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &bar, 0)) {}
  y[32 * rank + lane] = s[31 - lane];
  cluster.sync();
}
"""
BODIES = {
    "multicast": (
        "1",
        """if (lane == 0) {
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, 128);
    const uint16_t all = (1 << blocks) - 1;
    if (rank == 0) ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, s, x, 128, &bar, all);
  }""",
        lambda x, n: np.tile(x[:32], (n, 1)),
    ),
    "st.async": (
        "1",
        """if (lane == 0)
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, 128);
  const int next = (rank + 1) % blocks;
  float* to = ptx::mapa(ptx::space_cluster, &s[lane], next);
  ptx::st_async(ptx::sem_weak, to, x[32 * rank + lane], ptx::mapa(ptx::space_cluster, &bar, next));""",
        lambda x, n: np.roll(x.reshape(n, 32), 1, axis=0),
    ),
    "remote arrivals": (
        "32",
        """const int next = (rank + 1) % blocks;
  cluster.map_shared_rank(s, next)[lane] = x[32 * rank + lane];
  uint64_t* there = cluster.map_shared_rank(&bar, next);
  ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, there);""",
        lambda x, n: np.roll(x.reshape(n, 32), 1, axis=0),
    ),
    "copy from a neighbour": (
        "1",
        """const int next = (rank + 1) % blocks;
  __shared__ alignas(16) float mine[32];
  mine[lane] = x[32 * rank + lane];
  ptx::fence_proxy_async(ptx::space_shared);
  __syncwarp();
  if (lane == 0) {
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, 128);
    float* to = cluster.map_shared_rank(s, next);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_shared, to, mine, 128, cluster.map_shared_rank(&bar, next));
  }""",
        lambda x, n: np.roll(x.reshape(n, 32), 1, axis=0),
    ),
}


@pytest.mark.parametrize("blocks", [2, 8])
@pytest.mark.parametrize("name", BODIES)
def test_clusters_move_data_between_blocks(name, blocks):
    count, body, expected = BODIES[name]
    x, y = normal(32 * blocks), np.zeros((blocks, 32), f4)
    right(CLUSTER % {"count": count, "body": body}, x, y, grid=blocks, cluster=blocks)
    np.testing.assert_array_equal(y, expected(x, blocks)[:, ::-1])


@pytest.mark.parametrize("name", BODIES)
def test_a_peer_is_used_only_after_it_has_initialised(name):
    count, body, _ = BODIES[name]
    source = (CLUSTER % {"count": count, "body": body}).replace("cluster.sync();", "__syncthreads();", 1)
    wrong("race barrier-misuse", source, normal(64), np.zeros((2, 32), f4), grid=2, cluster=2)


@pytest.mark.parametrize("name", BODIES)
def test_who_may_leave_a_cluster_without_a_barrier(name):
    """A block that waits for all that others send it may leave; not one whose own memory a copy still reads."""
    count, body, expected = BODIES[name]
    source = "".join((CLUSTER % {"count": count, "body": body}).rsplit("cluster.sync();", 1))
    x, y = normal(64), np.zeros((2, 32), f4)
    if name == "copy from a neighbour":
        wrong("dsmem-after-exit", source, x, y, grid=2, cluster=2)
    else:
        right(source, x, y, grid=2, cluster=2)
        np.testing.assert_array_equal(y, expected(x, 2)[:, ::-1])


def test_cluster_barrier_in_two_halves():
    source = """
    #include <cooperative_groups.h>
    #include <cuda/ptx>
    namespace ptx = cuda::ptx;
    extern "C" __global__ void k(const float* x, float* y) {
      __shared__ float s[32];
      auto cluster = cooperative_groups::this_cluster();
      s[threadIdx.x] = x[32 * cluster.block_rank() + threadIdx.x];
      ptx::barrier_cluster_arrive();
      float own = x[threadIdx.x];
      ptx::barrier_cluster_wait();
      const float* other = cluster.map_shared_rank(s, cluster.block_rank() ^ 1);
      y[32 * cluster.block_rank() + threadIdx.x] = own + other[31 - threadIdx.x];
      ptx::barrier_cluster_arrive();
      ptx::barrier_cluster_wait();
    }
    """
    x, y = normal(64), np.zeros((2, 32), f4)
    right(source, x, y, grid=2, cluster=2)
    np.testing.assert_array_equal(y, x[:32] + x.reshape(2, 32)[::-1, ::-1])
    wrong(
        "race uninitialised-read",
        source.replace("ptx::barrier_cluster_arrive();", "ptx::barrier_cluster_arrive(ptx::sem_relaxed);", 1),
        x,
        y,
        grid=2,
        cluster=2,
    )
    wrong("barrier-misuse", without(source, "ptx::barrier_cluster_wait();"), x, y, grid=2, cluster=2)
    wrong("barrier-misuse", without(source, "ptx::barrier_cluster_arrive();"), x, y, grid=2, cluster=2)


def test_a_block_outside_the_cluster():
    source = """
    #include <cooperative_groups.h>
    extern "C" __global__ void k(float* y) {
      __shared__ float s;
      auto c = cooperative_groups::this_cluster();
      y[0] = *c.map_shared_rank(&s, 2);
    }
    """
    wrong("out-of-bounds", source, np.zeros(1, f4), grid=2, cluster=2, line="map_shared_rank")


# ---- the grid, atomics, fences -------------------------------------------------------------------------------------


def test_grid_barrier():
    source = """
    #include <cooperative_groups.h>
    namespace cg = cooperative_groups;
    extern "C" __global__ void k(const float* x, float* y) {
      auto grid = cg::this_grid();
      y[grid.thread_rank()] = x[grid.thread_rank()];
      grid.sync();
      float v = y[grid.size() - 1 - grid.thread_rank()];
      grid.sync();
      y[grid.thread_rank()] = v;
    }
    """
    x, y = normal(6 * 32), np.zeros(6 * 32, f4)
    right(source, x, y, grid=(3, 2), cooperative=True)
    np.testing.assert_array_equal(y, x[::-1])
    for piece in range(2):
        parts = source.split("grid.sync();")
        faulty = parts[0] + ("grid.sync();" if piece else "") + parts[1] + ("" if piece else "grid.sync();") + parts[2]
        wrong("race", faulty, x, y, grid=(3, 2), cooperative=True, line="y[grid")


@pytest.mark.parametrize(
    "call, start, expected",
    [
        ("atomicAdd(y, 2)", 0, 128),
        ("atomicSub(y, 1)", 0, -64),
        ("atomicMin(y, (int)threadIdx.x - 5)", 0, -5),
        ("atomicMax(y, (int)threadIdx.x)", 0, 63),
        ("atomicAnd(y, ~(1 << (threadIdx.x % 8)))", -1, -256),
        ("atomicOr(y, 1 << (threadIdx.x % 8))", 0, 255),
        ("atomicXor(y, 1)", 5, 5),
        ("atomicInc((unsigned*)y, 9u)", 0, 4),
        ("atomicDec((unsigned*)y, 9u)", 0, 6),
        ("for (int old = *(volatile int*)y, seen; (seen = atomicCAS(y, old, old + 1)) != old; old = seen) {}", 0, 64),
        ('asm volatile("red.global.add.s32 [%0], %1;" :: "l"(y), "r"(3) : "memory")', 0, 192),
    ],
)
def test_atomics(call, start, expected):
    y = np.full(1, start, i4)
    right('extern "C" __global__ void k(int* y) { CALL; }'.replace("CALL", call), y, block=64)
    assert y[0] == expected


def test_an_atomic_and_an_ordinary_access_race():
    source = 'extern "C" __global__ void k(int* y) { if (threadIdx.x) atomicAdd(y, 1);\n else y[0] = 5; }'
    wrong("race", source, np.zeros(1, i4), block=64)


FLAG = """
#include <cuda/atomic>
using Flag = cuda::atomic_ref<int, cuda::thread_scope_device>;
extern "C" __global__ void k(const float* x, float* y, int* flag) {
  if (blockIdx.x == 0) {
    y[threadIdx.x] = x[threadIdx.x];
    %s
  } else {
    %s
    y[32 + threadIdx.x] = y[31 - threadIdx.x];
  }
}
"""
THROUGH_A_FLAG = {
    "fences": (
        "__threadfence(); __syncwarp(); if (threadIdx.x == 0) atomicExch(flag, 1);",
        "while (atomicAdd(flag, 0) == 0) {} __threadfence();",
    ),
    "cuda::atomic_ref": (
        "__syncwarp(); if (threadIdx.x == 0) Flag(*flag).store(1, cuda::std::memory_order_release);",
        "while (Flag(*flag).load(cuda::std::memory_order_acquire) == 0) {}",
    ),
    "ptx": (
        "__syncwarp(); if (threadIdx.x == 0) "
        'asm volatile("st.release.gpu.global.s32 [%0], 1;" :: "l"(flag) : "memory");',
        'int v; do asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(flag) : "memory");'
        " while (v == 0);",
    ),
}


@pytest.mark.parametrize("name", THROUGH_A_FLAG)
def test_blocks_hand_over_through_a_flag(name):
    x, y = normal(32), np.zeros(64, f4)
    right(FLAG % THROUGH_A_FLAG[name], x, y, np.zeros(1, i4), grid=2, cooperative=True)
    np.testing.assert_array_equal(y[32:], x[::-1])


@pytest.mark.parametrize(
    "old, new",
    [
        ("__threadfence(); __syncwarp();", "__syncwarp();"),
        ("memory_order_release", "memory_order_relaxed"),
        ("memory_order_acquire", "memory_order_relaxed"),
        ("st.release.gpu", "st.relaxed.gpu"),
        ("ld.acquire.gpu", "ld.relaxed.gpu"),
        ("__syncwarp(); if (threadIdx.x == 0) asm", "if (threadIdx.x == 0) asm"),
    ],
)
def test_a_flag_without_order_publishes_nothing(old, new):
    name = next(n for n, parts in THROUGH_A_FLAG.items() if any(old in p for p in parts))
    source = (FLAG % THROUGH_A_FLAG[name]).replace(old, new)
    wrong("race", source, normal(32), np.zeros(64, f4), np.zeros(1, i4), grid=2, cooperative=True, line="y[31 -")


# ---- wgmma ---------------------------------------------------------------------------------------------------------


def wgmma_source(n: int, swizzle: str) -> str:
    """Return a kernel of two warpgroups that computes C = A B^T, [128, K] x [n, K], bf16, 64 columns of K at a time.

    The layouts are those of PTX ISA, "Shared Memory Matrix Layout": a core matrix is 8 rows of 16 bytes. Without a
    swizzle it is 128 contiguous bytes; here cores follow each other along K (leading dimension byte offset 128) and
    rows of cores after that (stride 1024). With the 128-byte swizzle 8 rows of 128 bytes are an atom of 1024 bytes, in
    which the 16-byte chunk c of row r lies at c ^ r.
    """
    count = n // 2
    registers = ", ".join(f"%{i}" for i in range(count))
    outputs = ", ".join(f'"+f"(d[{i}])' for i in range(count))
    place = {
        "none": "r / 8 * 1024 + c * 128 + r % 8 * 16",
        "128": "r * 128 + (c ^ r % 8) * 16",
    }[swizzle]
    step = {"none": 256, "128": 32}[swizzle]  # bytes from 16 columns of K to the next
    leading = {"none": 128, "128": 16}[swizzle]
    mode = {"none": 0, "128": 1}[swizzle]
    return f"""
#include <cstdint>
__device__ uint64_t describe(const unsigned char* p) {{
  uint64_t at = __cvta_generic_to_shared(p);
  return (at & 0x3ffff) >> 4 | uint64_t({leading} >> 4) << 16 | uint64_t(1024 >> 4) << 32 | uint64_t({mode}) << 62;
}}
__device__ void multiply(float (&d)[{count}], uint64_t a, uint64_t b) {{
  asm volatile("wgmma.mma_async.sync.aligned.m64n{n}k16.f32.bf16.bf16 "
               "{{{registers}}}, %{count}, %{count + 1}, 1, 1, 1, 0, 0;"
               : {outputs} : "l"(a), "l"(b));
}}
extern "C" __global__ void k(const uint4* A, const uint4* B, float* C, int K) {{
  extern __shared__ alignas(1024) unsigned char raw[];
  unsigned char *sa = raw, *sb = raw + 128 * 128;
  const int group = threadIdx.x / 128;
  float d[{count}];
  for (float& v : d) v = 0;
  for (int k0 = 0; k0 < K; k0 += 64) {{
    for (int i = threadIdx.x; i < (128 + {n}) * 8; i += 256) {{
      const bool a = i < 128 * 8;
      const int r = (a ? i : i - 128 * 8) / 8, c = i % 8;
      *reinterpret_cast<uint4*>((a ? sa : sb) + {place}) = (a ? A : B)[(r * K + k0) / 8 + c];
    }}
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int kk = 0; kk < 4; ++kk)
      multiply(d, describe(sa + group * 64 * 128 + kk * {step}), describe(sb + kk * {step}));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    __syncthreads();
  }}
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
  for (int i = 0; i < {count}; ++i) {{
    const int row = group * 64 + warp * 16 + lane / 4 + (i & 2) * 4, column = i / 4 * 8 + lane % 4 * 2 + (i & 1);
    C[row * {n} + column] = d[i];
  }}
}}
"""


def bf16(x: np.ndarray) -> np.ndarray:
    return (np.ascontiguousarray(x, f4).view(u4) >> 16).astype(np.uint16)


def from_bf16(x: np.ndarray) -> np.ndarray:
    return (x.astype(u4) << 16).view(f4)


def wgmma_run(source: str, n: int, K: int = 128, seeds: int = 2, transposed: bool = False):
    a, b = bf16(normal(128, K, seed=1)), bf16(normal(n, K, seed=2))
    c = np.full((128, n), np.nan, f4)
    # the kernel copies 16 bytes at a time
    parts = [np.ascontiguousarray(x).view(u4).reshape(-1, 4).copy() for x in (a, b.T if transposed else b)]
    source = source.replace("const uint4* A, const uint4* B", "const unsigned* A4, const unsigned* B4").replace(
        "extern __shared__", "const uint4 *A = (const uint4*)A4, *B = (const uint4*)B4;\n  extern __shared__"
    )
    result = run(source, *parts, c, i4(K), block=256, smem=128 * 128 + n * 128, seeds=seeds)
    return result, c, from_bf16(a) @ from_bf16(b).T


@pytest.mark.parametrize("n, swizzle", [(64, "128"), (128, "128"), (8, "128"), (64, "none"), (24, "none")])
def test_wgmma_multiplies(n, swizzle):
    result, c, expected = wgmma_run(wgmma_source(n, swizzle), n)
    assert result.ok, str(result)
    np.testing.assert_allclose(c, expected, rtol=1e-4, atol=1e-3)


def test_wgmma_with_an_operand_that_runs_along_n():
    """B as [K, 64]: with the 128-byte swizzle an atom of 1024 bytes is 8 rows of K by 64 columns; 16 rows are two."""
    source = wgmma_source(64, "128")
    for old, new in [
        ("(a ? A : B)[(r * K + k0) / 8 + c]", "a ? A[(r * K + k0) / 8 + c] : B[(k0 + r) * 8 + c]"),
        ("describe(sb + kk * 32)", "describe(sb + kk * 2048)"),
        ("1, 1, 1, 0, 0;", "1, 1, 1, 0, 1;"),
    ]:
        assert old in source
        source = source.replace(old, new)
    result, c, expected = wgmma_run(source, 64, transposed=True)
    assert result.ok, str(result)
    np.testing.assert_allclose(c, expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(
    "piece, kinds",
    [
        ('asm volatile("fence.proxy.async;" ::: "memory");', {"missing-proxy-fence"}),
        ("__syncthreads();", {"race"}),
        ('asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");', {"race", "wrong-result"}),
        ('asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");', {"race", "wrong-result"}),
    ],
)
def test_wgmma_mistakes(piece, kinds):
    source = wgmma_source(64, "128")
    result, c, expected = wgmma_run(without(source, piece), 64)
    assert any(f.kind.value in kinds for f in result.faults), str(result)


def test_wgmma_accumulators_are_poison_until_the_wait():
    """Read before the wait, in a kernel with one step, where nothing overwrites the operands."""
    source = without(wgmma_source(64, "128"), 'asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");')
    _, c, _ = wgmma_run(source, 64, K=64)
    assert np.isnan(c).all()


def test_wgmma_needs_whole_warpgroups():
    source = wgmma_source(64, "128").replace(
        "multiply(d, describe(sa", "if (threadIdx.x % 128 < 96) multiply(d, describe(sa"
    )
    result, _, _ = wgmma_run(source, 64)
    assert any(f.kind.value in {"deadlock", "illegal-collective"} for f in result.faults), str(result)


# ---- the language --------------------------------------------------------------------------------------------------


def test_shared_declarations_of_all_kinds():
    source = """
    #define WIDTH 8
    namespace shapes { constexpr int ROWS = 4; struct alignas(16) Pair { float a; int b[3]; }; }
    __shared__ int file_scope[32];
    template <int N> struct Box { float v[N]; };
    __device__ int neighbour(int i) {
      __shared__ int inner[32]; inner[i] = i; __syncwarp(); return inner[(i + 1) % 32];
    }
    extern "C" __global__ void k(float* y) {
      extern __shared__ __align__(16) unsigned char pool[];
      __shared__ float a[shapes::ROWS][WIDTH], *p, c;
      static __shared__ shapes::Pair pair[4];
      alignas(64) __shared__ Box<32> box;
      volatile __shared__ int flag;
      __shared__ union { float f[32]; int i[32]; } both;
      const int i = threadIdx.x;
      if (i == 0) { p = &a[0][0]; c = 2; flag = 3; for (auto& q : pair) q.b[2] = 4; }
      a[i / WIDTH][i % WIDTH] = 1;
      box.v[i] = i;
      both.i[i] = i;
      file_scope[i] = 5;
      reinterpret_cast<float*>(pool)[i] = 6;
      __syncwarp();
      y[i] = p[31 - i] + c + flag + pair[i % 4].b[2] + box.v[31 - i] + both.i[31 - i] + file_scope[31 - i] +
             reinterpret_cast<float*>(pool)[31 - i] + neighbour(i);
    }
    """
    y, i = np.zeros(32, f4), np.arange(32)
    right(source, y, smem=128)
    np.testing.assert_array_equal(y, 1 + 2 + 3 + 4 + 2 * (31 - i) + 5 + 6 + (i + 1) % 32)


def test_constant_and_device_variables():
    source = """
    __constant__ float weights[4] = {1.f, 2.f, 3.f, 4.f};
    __device__ int counter = 10;
    __device__ float table[32];
    extern "C" __global__ void k(float* y) {
      table[threadIdx.x] = weights[threadIdx.x % 4];
      __syncwarp();
      y[threadIdx.x] = table[31 - threadIdx.x];
      if (threadIdx.x == 0) counter += 1;
      __syncwarp();
      y[threadIdx.x] += counter;
    }
    """
    y = np.zeros(32, f4)
    right(source, y)
    np.testing.assert_array_equal(y, np.tile([4, 3, 2, 1], 8) + 11)


def test_a_flag_in_a_device_variable():
    source = """
    __device__ volatile int flag = 0;
    __device__ float value;
    extern "C" __global__ void k(float* y) {
      if (blockIdx.x == 0 && threadIdx.x == 0) { value = 5; __threadfence(); flag = 1; }
      while (flag == 0) {}
      __threadfence();
      y[blockIdx.x * blockDim.x + threadIdx.x] = value;
    }
    """
    y = np.zeros(64, f4)
    right(source, y, grid=2, cooperative=True)
    assert (y == 5).all()
    wrong("race", without(source, "__threadfence();"), y, grid=2, cooperative=True, line="= value")
    wrong("deadlock timeout", without(source, "flag = 1;"), y, grid=2, cooperative=True, timeout=5)


def test_device_variables_race_too():
    source = """
    __device__ int counter = 0;
    extern "C" __global__ void k(int* y) {
      counter += 1;
      y[threadIdx.x] = counter;
    }
    """
    wrong("race", source, np.zeros(32, i4), line="counter")


def test_templates_namespaces_and_lambdas():
    source = """
    namespace course { namespace inner {
    template <typename T, int N> __device__ T power(T x) {
      if constexpr (N == 0) return T(1); else return x * power<T, N - 1>(x);
    }
    template <int N> __global__ void __launch_bounds__(64) raise(const float* x, float* y) {
      auto at = [=](int i) { return power<float, N>(x[i]); };
      y[blockIdx.x * blockDim.x + threadIdx.x] = at(blockIdx.x * blockDim.x + threadIdx.x);
    }
    } }
    """
    x, y = normal(64), np.zeros(64, f4)
    right(source, x, y, entry="course::inner::raise<3>", grid=2)
    np.testing.assert_allclose(y, x**3, rtol=1e-5)


@pytest.mark.parametrize("block, grid", [((8, 4, 2), (2, 3)), ((1024,), (2,)), ((16, 16), (1, 1, 2)), ((33,), (3,))])
def test_blocks_and_grids_of_all_shapes(block, grid):
    source = """
    extern "C" __global__ void k(int* y) {
      __shared__ int s[1024];
      int n = blockDim.x * blockDim.y * blockDim.z;
      int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
      int b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
      s[t] = 1000 * b + t;
      __syncthreads();
      y[b * n + t] = s[n - 1 - t];
    }
    """
    n, blocks = int(np.prod(block)), int(np.prod(grid))
    y = np.zeros((blocks, n), i4)
    right(source, y, block=block, grid=grid)
    np.testing.assert_array_equal(y, 1000 * np.arange(blocks)[:, None] + np.arange(n)[::-1])
    wrong("race uninitialised-read", without(source, "__syncthreads();"), y, block=block, grid=grid, line="s[n - 1")


def test_printf_clock_and_assert():
    source = r"""
    #include <cassert>
    extern "C" __global__ void k(int* y) {
      long long begin = clock64();
      y[threadIdx.x] += 1;
      __syncwarp();
      y[threadIdx.x] = clock64() > begin;
      assert(threadIdx.x < LIMIT);
      if (threadIdx.x == 5) printf("%s %d %.2f %llu\n", "five", threadIdx.x, 0.5, 1ull << 40);
    }
    """
    y = np.zeros(32, i4)
    result = run(source.replace("LIMIT", "32"), y, seeds=1)
    assert result.ok and result.printed == f"five 5 0.50 {1 << 40}\n"
    assert y.all()
    fault = wrong("launch-error", source.replace("LIMIT", "31"), y, line="assert").faults[0]
    assert "threadIdx.x < 31" in fault.message and fault.lane == 31


def test_half_and_vector_types():
    source = """
    #include <cuda_fp16.h>
    #include <cuda_bf16.h>
    extern "C" __global__ void k(const float* x, float* y) {
      float4 v = reinterpret_cast<const float4*>(x)[threadIdx.x];
      __half2 h = __floats2half2_rn(v.x, v.y);
      h = __hadd2(h, h);
      __nv_bfloat16 b = __float2bfloat16(v.z);
      y[threadIdx.x] = __low2float(h) + __high2float(h) + __bfloat162float(b) + v.w;
    }
    """
    x = np.arange(128, dtype=f4)
    y = np.zeros(32, f4)
    right(source, x, y)
    v = x.reshape(32, 4)
    np.testing.assert_array_equal(y, 2 * (v[:, 0] + v[:, 1]) + v[:, 2] + v[:, 3])
