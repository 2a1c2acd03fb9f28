"""Planted mistakes are found under every schedule, with their kind and line; the same kernels put right are silent."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ws_course.runtime import Kernel, Result

SEEDS = 3

REVERSE = """
extern "C" __global__ void reverse(const float* x, float* y) {
  __shared__ float s[128];
  s[threadIdx.x] = x[threadIdx.x];
  %s
  y[threadIdx.x] = s[127 - threadIdx.x];
}
"""

ASYNC = """
#include <cuda/pipeline>
extern "C" __global__ void reverse(const float* x, float* y) {
  __shared__ alignas(16) float s[128];
  auto pipe = cuda::make_pipeline();
  pipe.producer_acquire();
  cuda::memcpy_async(&s[threadIdx.x], &x[threadIdx.x], cuda::aligned_size_t<4>(4), pipe);
  pipe.producer_commit();
  %s
  y[threadIdx.x] = s[127 - threadIdx.x];
}
"""

UNIFIED = """
#include <cooperative_groups.h>
#include <cuda/pipeline>
namespace cg = cooperative_groups;
extern "C" __global__ void reverse(const float* x, float* y) {
  __shared__ alignas(16) float s[128];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 1> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state%s);
  if (threadIdx.x < 64) {
    pipe.producer_acquire();
    for (int i = threadIdx.x; i < 128; i += 64) cuda::memcpy_async(&s[i], &x[i], cuda::aligned_size_t<4>(4), pipe);
    pipe.producer_commit();
  } else {
    pipe.consumer_wait();
    for (int i = threadIdx.x - 64; i < 128; i += 64) y[i] = s[127 - i];
    pipe.consumer_release();
  }
}
"""

BARRIER = """
#include <cuda/barrier>
extern "C" __global__ void reverse(const float* x, float* y) {
  __shared__ float s[128];
  __shared__ cuda::barrier<cuda::thread_scope_block> ready;
  if (threadIdx.x == 0) init(&ready, %s);
  %s
  s[threadIdx.x] = x[threadIdx.x];
  ready.arrive_and_wait();
  y[threadIdx.x] = s[127 - threadIdx.x];
}
"""

# name: source, text of the line that the fault must name ("": any), the kinds that name the mistake
READ = "y[threadIdx.x] = s[127"
BAD = {
    "no barrier": (REVERSE % "", READ, {"race", "uninitialised-read"}),
    "barrier in a branch": (
        REVERSE % "if (threadIdx.x % 2) __syncthreads();\n  else __syncthreads();",
        "__syncthreads",
        {"illegal-collective"},
    ),
    "barrier for half a warp": (REVERSE % "if (threadIdx.x % 2) __syncthreads();", "", {"race"}),
    "one past the end": (REVERSE.replace("s[127 -", "s[128 -") % "__syncthreads();", "s[128 -", {"out-of-bounds"}),
    "past an argument": (
        REVERSE.replace("x[threadIdx.x]", "x[threadIdx.x + 1]") % "__syncthreads();",
        "x[",
        {"out-of-bounds"},
    ),
    "never loaded": (
        REVERSE.replace("s[threadIdx.x] = x", "float v = x") % "__syncthreads();",
        READ,
        {"uninitialised-read"},
    ),
    "copy not waited for": (ASYNC % "__syncthreads();", READ, {"race"}),
    "copy not published": (ASYNC % "pipe.consumer_wait();", READ, {"race"}),
    "unified pipeline in a branch": (UNIFIED % "", "consumer_wait", {"deadlock"}),
    "barrier expects too many": (BARRIER % (129, "__syncthreads();"), "arrive_and_wait", {"deadlock"}),
    "barrier expects too few": (BARRIER % (32, "__syncthreads();"), "", {"race", "barrier-misuse", "deadlock"}),
    "barrier init not published": (BARRIER % (128, ""), "arrive_and_wait", {"race"}),
    "barrier never initialised": (
        (BARRIER % (128, "__syncthreads();")).replace("if (threadIdx.x == 0) init(&ready, 128);", ""),
        "arrive_and_wait",
        {"deadlock", "barrier-misuse"},
    ),
    "endless loop": (REVERSE % "while (y[0] != 1.f) {}", "while", {"timeout", "deadlock"}),
    "does not compile": (REVERSE % "__syncthreads()", "__syncthreads()", {"compile-error"}),
}

GOOD = {
    "barrier": REVERSE % "__syncthreads();",
    "asynchronous copy": ASYNC % "pipe.consumer_wait(); __syncthreads();",
    "partitioned pipeline": UNIFIED % ", 64",
    "cuda::barrier": BARRIER % (128, "__syncthreads();"),
}


def run(source: str, seeds: int = SEEDS, **options) -> tuple[Result, np.ndarray, np.ndarray]:
    x = np.random.default_rng(7).standard_normal(128).astype(np.float32)
    y = np.full_like(x, np.nan)
    options = {"grid": 1, "block": 128, "timeout": 3.0, **options}
    return Kernel(source.strip(), "reverse", "reverse.cu").run(x, y, backend="emulator", seeds=seeds, **options), x, y


@pytest.mark.parametrize("name", BAD)
def test_mistake_is_found_under_every_schedule(name):
    source, text, kinds = BAD[name]
    result, _, _ = run(source)
    fitting = [f for f in result.faults if f.kind.value in kinds]
    assert fitting, f"{name}: {result}"
    if result.seeds:
        assert {s for f in fitting for s in f.seeds} == set(result.seeds)
    lines = source.strip().splitlines()
    assert any(text in lines[f.line - 1] for f in fitting), f"{name}: {result}"
    for fault in fitting:
        assert fault.file == "reverse.cu"
        assert len(fault.message.split()) >= 4


@pytest.mark.parametrize("name", GOOD)
def test_right_kernel_is_silent_and_right(name):
    result, x, y = run(GOOD[name], seeds=6)
    assert result.ok, str(result)
    np.testing.assert_array_equal(y, x[::-1])


def test_deadlock_report_counts_and_teaches():
    result, _, _ = run(UNIFIED % "", seeds=1)
    (fault,) = result.faults
    assert "64 of 128 arrivals" in fault.message and "64 are missing" in fault.message
    assert "consumer_wait" in fault.message and "state" in fault.message
    assert "partitioned" in fault.hint


def test_race_names_both_places_and_the_element():
    result, _, _ = run(REVERSE % "", seeds=1)
    race = next(f for f in result.faults if f.kind == "race")
    assert race.object.startswith("s[") and race.warp is not None and race.lane is not None
    assert {race.line, race.others[0].line} == {3, 5}


def test_members_of_a_shared_struct_are_named():
    source = """
    struct Storage { float left[64], right[64]; };
    extern "C" __global__ void reverse(const float* x, float* y) {
      extern __shared__ alignas(16) unsigned char raw[];
      Storage& s = *reinterpret_cast<Storage*>(raw);
      if (threadIdx.x < 64) s.left[threadIdx.x] = x[threadIdx.x];
      y[threadIdx.x] = s.right[threadIdx.x % 64];
    }
    """
    result, _, _ = run(source, seeds=1, smem=512)
    assert result.faults[0].object.startswith("right[")


def test_two_blocks_that_write_one_element_race():
    source = (
        'extern "C" __global__ void reverse(const float* x, float* y) { if (threadIdx.x == 0) y[0] = x[blockIdx.x]; }'
    )
    result, _, _ = run(source, grid=2)
    assert {f.kind.value for f in result.faults} == {"race"}
    assert "block" in result.faults[0].message


def test_atomics_and_fences_order_blocks():
    source = """
    extern "C" __global__ void reverse(const float* x, float* y) {
      __shared__ bool last;
      float v = x[threadIdx.x];
      for (int d = 16; d; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
      if (threadIdx.x % 32 == 0) atomicAdd(&y[1 + blockIdx.x], v);
      __threadfence();
      __syncthreads();
      if (threadIdx.x == 0) last = atomicAdd((int*)&y[0], 1) == (int)gridDim.x - 1;
      __syncthreads();
      if (last && threadIdx.x == 0) {
        __threadfence();
        for (int i = 0; i < (int)gridDim.x; ++i) y[10] += atomicAdd(&y[1 + i], 0.f);
      }
    }
    """
    x = np.random.default_rng(7).standard_normal(128).astype(np.float32)
    y = np.zeros(128, np.float32)
    result = Kernel(source, "reverse", "reverse.cu").run(x, y, grid=4, block=128, backend="emulator", seeds=SEEDS)
    assert result.ok, str(result)
    np.testing.assert_allclose(y[10], 4 * x.sum(), rtol=1e-4)


def test_warp_collectives_and_tiles():
    source = """
    #include <cooperative_groups.h>
    #include <cooperative_groups/reduce.h>
    namespace cg = cooperative_groups;
    extern "C" __global__ void reverse(const float* x, float* y) {
      auto tile = cg::tiled_partition<8>(cg::this_thread_block());
      float sum = cg::reduce(tile, x[threadIdx.x], cg::plus<float>());
      float first = tile.shfl(x[threadIdx.x], 0);
      unsigned even = __ballot_sync(0xffffffffu, threadIdx.x % 2 == 0);
      y[threadIdx.x] = even == 0x55555555u && __all_sync(0xffffffffu, 1) ? sum + first : 0.f;
    }
    """
    result, x, y = run(source)
    assert result.ok, str(result)
    groups = x.reshape(16, 8)
    np.testing.assert_allclose(y.reshape(16, 8), (groups.sum(1) + groups[:, 0])[:, None].repeat(8, 1), rtol=1e-5)


def test_clusters_share_memory():
    source = """
    #include <cooperative_groups.h>
    namespace cg = cooperative_groups;
    extern "C" __global__ void __cluster_dims__(2, 1, 1) reverse(const float* x, float* y) {
      __shared__ float s[64];
      auto cluster = cg::this_cluster();
      s[threadIdx.x] = x[64 * cluster.block_rank() + threadIdx.x];
      cluster.sync();
      const float* theirs = cluster.map_shared_rank(s, 1 - cluster.block_rank());
      y[64 * cluster.block_rank() + threadIdx.x] = theirs[63 - threadIdx.x];
      %s
    }
    """
    result, x, y = run(source % "cluster.sync();", grid=2, block=64)
    assert result.ok, str(result)
    np.testing.assert_array_equal(y, x[::-1])
    result, _, _ = run(source % "", grid=2, block=64)
    assert "dsmem-after-exit" in {f.kind.value for f in result.faults}


def test_grid_barrier_needs_a_cooperative_launch():
    source = """
    #include <cooperative_groups.h>
    extern "C" __global__ void reverse(const float* x, float* y) {
      int i = blockIdx.x * 32 + threadIdx.x;
      y[i] = x[i];
      cooperative_groups::this_grid().sync();
      float other = y[127 - i];
      cooperative_groups::this_grid().sync();
      y[i] = other;
    }
    """
    result, x, y = run(source, grid=4, block=32, cooperative=True)
    assert result.ok, str(result)
    np.testing.assert_array_equal(y, x[::-1])
    result, _, _ = run(source, grid=4, block=32)
    assert result.faults[0].kind == "launch-error" and "cooperative" in result.faults[0].hint


def test_constants_of_the_kernel_do_not_reach_the_headers():
    names = "A B C D F G K L M N P S T U V X Op Size Scope Stages To From Rank TILE".split()
    source = """
    #include <cooperative_groups.h>
    #include <cooperative_groups/reduce.h>
    #include <cuda/pipeline>
    #include <cuda/ptx>
    #include <ws/trace.cuh>
    extern "C" __global__ void reverse(const float* x, float* y) {
      auto tile = cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block());
      y[threadIdx.x] = cooperative_groups::reduce(tile, 1.f, cooperative_groups::plus<float>()) + N;
    }
    """
    y = np.zeros(64, np.float32)
    constants = dict.fromkeys(names, 4)
    written = "".join(f"#define {name} 4\n" for name in names) + source
    for kernel in (Kernel(source, "reverse", "k.cu", constants), Kernel(written, "reverse", "k.cu")):
        result = kernel.run(y, y, grid=1, block=64, backend="emulator")
        assert result.ok, str(result)
        assert (y == 36).all()


def one(body: str, *, before: str = "", threads: int = 32, seeds: int = SEEDS, **options) -> tuple[Result, np.ndarray]:
    y = np.zeros(128, np.float32)
    kernel = Kernel(f'{before}\nextern "C" __global__ void k(float* y) {{\n{body}\n}}', "k", "k.cu")
    options = {"grid": 1, **options}
    return kernel.run(y, block=threads, backend="emulator", seeds=seeds, timeout=5, **options), y


@pytest.mark.parametrize(
    "body, kind, word",
    [
        ("y[threadIdx.x * 4096] = 1;", "out-of-bounds", "far outside"),
        ("__shared__ float s[32]; s[(int)threadIdx.x - 1] = 1; y[0] = s[0];", "out-of-bounds", "s[-1]"),
        ("*(float4*)(y + threadIdx.x) = make_float4(1, 1, 1, 1);", "out-of-bounds", "misaligned"),
        ("__shared__ int s[4]; atomicAdd(&s[0], 1);", "uninitialised-read", "s[0]"),
        ("__shared__ int s; if (threadIdx.x == 0) s = 0; __syncthreads(); atomicAdd(&s, 1); y[0] = s;", "race", "s"),
    ],
)
def test_classic_mistakes(body, kind, word):
    result, _ = one(body)
    fitting = [f for f in result.faults if f.kind.value == kind]
    assert {s for f in fitting for s in f.seeds} == set(result.seeds), str(result)
    assert word in fitting[0].message + fitting[0].object


def test_lanes_of_one_branch_form_one_group():
    result, y = one(
        """
        unsigned t = threadIdx.x;
        if (t % 3 == 0) {
          auto group = cooperative_groups::coalesced_threads();
          y[t] = group.size() * 100 + group.thread_rank();
          if (group.thread_rank() == 0) atomicAdd(&y[100], group.size());
        } else {
          y[t] = __popc(__activemask());
        }
        """,
        before="#include <cooperative_groups.h>",
        threads=64,
        seeds=6,
    )
    assert result.ok, str(result)
    for warp in (0, 1):
        lanes = [t for t in range(32 * warp, 32 * warp + 32) if t % 3 == 0]
        assert [y[t] for t in lanes] == [100 * len(lanes) + rank for rank in range(len(lanes))]
        assert all(y[t] == 32 - len(lanes) for t in range(32 * warp, 32 * warp + 32) if t % 3)
    assert y[100] == 22


def test_the_first_guess_of_a_compare_and_swap_loop_is_no_race():
    before = """
    __device__ void add_max(float* at, float v) {
      int* p = (int*)at;
      int old = *p, seen;
      do {
        seen = old;
        old = atomicCAS(p, seen, __float_as_int(fmaxf(v, __int_as_float(seen))));
      } while (seen != old);
    }
    """
    result, y = one("add_max(&y[0], threadIdx.x);", before=before, threads=64, grid=2)
    assert result.ok, str(result)
    assert y[0] == 63


def test_arrays_may_be_vectors_or_structs():
    source = """
    struct Pair { float a, b; };
    extern "C" __global__ void k(const float4* x, Pair* y) {
      float4 v = x[threadIdx.x];
      y[threadIdx.x] = {v.x + v.y, v.z + v.w};
    }
    """
    x, y = np.arange(128, dtype=np.float32), np.zeros(64, np.float32)
    result = Kernel(source, "k", "k.cu").run(x, y, grid=1, block=32, backend="emulator")
    assert result.ok, str(result)
    np.testing.assert_array_equal(y, x.reshape(64, 2).sum(1))
    with pytest.raises(TypeError, match="whole number"):
        Kernel(source, "k", "k.cu").run(x[:6], y, grid=1, block=1, backend="emulator")


def test_headers_that_are_not_emulated_are_one_fault():
    result, _ = one("y[0] = 1;", before="#include <cub/cub.cuh>")
    (fault,) = result.faults
    assert (fault.kind, fault.line) == ("not-emulated", 1)


def test_a_fault_in_a_helper_function_names_its_caller():
    before = "__device__ void put(float* s, int i) {\n  s[i] = 1;\n}"
    result, _ = one("__shared__ float s[32];\nput(s, threadIdx.x + 1);", before=before)
    (fault,) = result.faults
    assert (fault.line, fault.others[0].line, fault.others[0].what) == (2, 6, "called from here")


RING = """
#include <cuda/ptx>
namespace ptx = cuda::ptx;
extern "C" __global__ void ring(const float* x, float* y, int n) {
  __shared__ float slot[2];
  __shared__ uint64_t full[2], empty[2];
  if (threadIdx.x < 2) { ptx::mbarrier_init(&full[threadIdx.x], 1); ptx::mbarrier_init(&empty[threadIdx.x], 1); }
  __syncthreads();
  if (threadIdx.x == 0) for (int t = 0; t < n; ++t) {
    while (!ptx::mbarrier_try_wait_parity(&empty[t % 2], (t / 2 & 1) ^ FIRST)) {}
    slot[t % 2] = x[t];
    ptx::mbarrier_arrive(&full[t % 2]);
  }
  if (threadIdx.x == 32) for (int t = 0; t < n; ++t) {
    while (!ptx::mbarrier_try_wait_parity(&full[t % 2], t / 2 & 1)) {}
    y[t] = slot[t % 2];
    if (RELEASE) ptx::mbarrier_arrive(&empty[t % 2]);
  }
}
"""


@pytest.mark.parametrize(
    ("first", "release", "cause"),
    [(1, 1, ""), (0, 1, "the producer's first wait must use parity 1"), (1, 0, "nobody has released the slot since")],
)
def test_a_ring_that_hangs_at_empty_says_whether_the_first_round_passed(first, release, cause):
    x, y = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    kernel = Kernel(RING, "ring", "ring.cu", {"FIRST": first, "RELEASE": release})
    result = kernel.run(x, y, 8, grid=1, block=64, backend="emulator", seeds=SEEDS)
    if not cause:
        assert result.ok and (x == y).all(), str(result)
        return
    (fault,) = result.faults
    assert fault.kind == "deadlock" and fault.object == "empty[0]" and cause in fault.hint


ELECTED = """
#include <cuda/ptx>
namespace ptx = cuda::ptx;
extern "C" __global__ void k(int* out) {
  __shared__ uint64_t full;
  if (threadIdx.x == 0) ptx::mbarrier_init(&full, 2);  // nobody arrives a second time
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive(&full);
    while (!ptx::mbarrier_try_wait_parity(&full, 0)) {}
  }
  __syncwarp();
  %s
  out[threadIdx.x] = 1;
}
"""


@pytest.mark.parametrize("end", ["", "__syncthreads();"])
def test_a_deadlock_names_the_barrier_that_an_elected_lane_waits_at_and_not_the_lanes_behind_it(end):
    out = np.zeros(64, np.int32)
    result = Kernel(ELECTED.strip() % end, "k", "k.cu").run(out, grid=1, block=64, backend="emulator", seeds=SEEDS)
    (fault,) = result.faults
    assert (fault.kind, fault.line, fault.object) == ("deadlock", 9, "full"), str(result)
    assert "1 of 2 arrivals" in fault.message and any("__syncwarp" in other.what for other in fault.others)


NEIGHBOUR = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(float* y) {
  __shared__ float s[32];
  auto cluster = cg::this_cluster();
  cluster.sync();
  s[threadIdx.x] = 1;
  y[blockIdx.x * 32 + threadIdx.x] = *cluster.map_shared_rank(&s[threadIdx.x], cluster.block_rank() ^ 1);
  cluster.sync();
}
"""


def test_a_race_between_the_blocks_of_a_cluster_says_whose_memory_it_is_and_who_the_other_is():
    y = np.zeros(64, np.float32)
    result = Kernel(NEIGHBOUR, "k", "k.cu").run(y, grid=2, block=32, cluster=2, backend="emulator", seeds=SEEDS)
    races = [str(fault) for fault in result.faults if fault.kind == "race"]
    assert any(
        re.search(r"block 0 .* reads s\[\d+\] of block 1, and block 1 warp 0 lane \d+ wrote it", text) for text in races
    ), str(result)


def test_a_bulk_copy_from_nowhere_is_reported_at_its_call():
    body = """
    __shared__ alignas(16) float s[64];
    __shared__ uint64_t full;
    if (threadIdx.x == 0) {
      cuda::ptx::mbarrier_init(&full, 1);
      cuda::ptx::cp_async_bulk(cuda::ptx::space_cluster, cuda::ptx::space_global, s, (const float*)nullptr, 256, &full);
    }"""
    result, _ = one(body, before="#include <cuda/ptx>")
    (fault,) = result.faults
    assert fault.kind == "out-of-bounds" and "null pointer" in fault.message
    assert "cp_async_bulk" in (body.splitlines()[fault.line - 3])


REGISTERS = """
#include <ws/registers.cuh>
extern "C" __global__ void __launch_bounds__(384, 1) take(int* who) {
  %s
  who[threadIdx.x] = 1;
}
"""


@pytest.mark.parametrize(
    ("body", "threads", "kind", "said"),
    [
        ("if (threadIdx.x >= 128) ws::setmaxnreg_inc<240>();", 384, "deadlock", "wants 2304 more registers"),
        ("if (threadIdx.x < 32) ws::setmaxnreg_dec<24>();", 256, "illegal-collective", "1 of the 4 warps"),
        (
            "if (threadIdx.x < 64) ws::setmaxnreg_dec<24>();\n  else if (threadIdx.x < 128) ws::setmaxnreg_dec<32>();",
            256,
            "illegal-collective",
            "different numbers",
        ),
        ("if (threadIdx.x < 128) ws::setmaxnreg_dec<24>(); else ws::setmaxnreg_inc<240>();", 384, "", ""),
        ("if (threadIdx.x < 128) ws::setmaxnreg_dec<240>();", 384, "launch-error", "dec never adds"),
        ("ws::setmaxnreg_inc<232>();\n  ws::setmaxnreg_dec<24>();\n  ws::setmaxnreg_inc<32>();", 256, "", ""),
    ],
)
def test_setmaxnreg_is_for_whole_warpgroups_and_waits_for_registers(body, threads, kind, said):
    who = np.zeros(threads, np.int32)
    kernel = Kernel(REGISTERS.strip() % body, "take", "take.cu")
    result = kernel.run(who, grid=1, block=threads, backend="emulator", seeds=SEEDS)
    assert [fault.kind for fault in result.faults] == [kind] * bool(kind), str(result)
    assert all(said in fault.message and fault.line in (3, 4) for fault in result.faults), str(result)


def test_a_count_that_is_too_small_is_named_beside_the_race_that_it_causes():
    source = RING.replace("ptx::mbarrier_init(&empty[threadIdx.x], 1)", "ptx::mbarrier_init(&empty[threadIdx.x], 32)")
    source = source.replace("if (threadIdx.x == 32) for", "if (threadIdx.x >= 32) for")
    x, y = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    kernel = Kernel(source, "ring", "ring.cu", {"FIRST": 1, "RELEASE": 1})
    shared_store = kernel.run(x, y, 8, grid=1, block=64, backend="emulator", seeds=SEEDS)
    assert all("counts" not in fault.hint for fault in shared_store.faults), "the count is right here"
    result = kernel.run(x, y, 8, grid=1, block=96, backend="emulator", seeds=SEEDS)
    assert all("more than 32 threads arrive at `empty[0]`" in fault.hint for fault in result.faults), str(result)
