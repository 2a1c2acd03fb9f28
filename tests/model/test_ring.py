"""The ring counts as cuda::pipeline counts; the emulator, which runs real kernels, is the witness."""

import re

import numpy as np
import pytest

from ws_course.faults import FaultKind
from ws_course.model.ring import CALLS, Barrier, Ring
from ws_course.runtime import Kernel

ACQUIRE, COMMIT, WAIT, RELEASE = CALLS


def play(ring, *steps):
    """Make calls: (warp, name), or "land"."""
    return [ring.land() if step == "land" else ring.call(*step) for step in steps]


def test_a_barrier_completes_a_phase_when_all_have_come():
    barrier = Barrier(64)
    barrier.arrive(32)
    assert (barrier.arrived, barrier.phase) == (32, 0)
    barrier.arrive(32)
    assert (barrier.arrived, barrier.phase) == (0, 1)


def test_a_barrier_refuses_an_arrival_too_many():
    with pytest.raises(ValueError, match="0 \\+ 64 arrivals at a barrier that expects 32"):
        Barrier(32).arrive(64)


def test_one_stage_lives_through_its_four_states():
    ring = Ring(1, producers=[0], consumers=[1])
    seen = [ring.states[0]]
    for step in ((0, ACQUIRE), (0, COMMIT), "land", (1, WAIT), (1, RELEASE)):
        play(ring, step)
        seen.append(ring.states[0])
    assert seen == ["empty", "filling", "filling", "full", "draining", "empty"]


def test_commit_does_not_arrive_before_the_copies_land():
    ring = Ring(2, [0], [1])
    play(ring, (0, ACQUIRE), (0, COMMIT))
    assert "waits" in ring.call(1, WAIT)
    assert ring.full[0].phase == 0
    assert ring.land().endswith("warp 1 consumer_wait returns")
    assert ring.states == ["draining", "empty"]


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_as_many_acquires_return_as_there_are_stages(stages):
    ring = Ring(stages, [0], [1])
    for _ in range(stages):
        assert "returns" in play(ring, (0, ACQUIRE), (0, COMMIT), "land")[0]
    assert "waits" in ring.call(0, ACQUIRE)
    assert not ring.stuck  # the consumer can still move
    assert play(ring, (1, WAIT), (1, RELEASE))[-1].endswith("warp 0 producer_acquire returns")


def test_the_parts_are_counted_apart():
    unified, partitioned = Ring(1, [0, 1], [0, 1]), Ring(1, [0], [1, 2])
    assert (unified.full[0].expected, unified.empty[0].expected) == (64, 64)
    assert (partitioned.full[0].expected, partitioned.empty[0].expected) == (32, 64)


def test_many_rounds_come_back_to_an_empty_ring():
    ring = Ring(3, [0, 1], [0, 1])
    for _ in range(10):
        play(ring, (0, ACQUIRE), (1, ACQUIRE), (0, COMMIT), (1, COMMIT), "land")
        play(ring, (1, WAIT), (1, RELEASE), (0, WAIT), (0, RELEASE))
    assert ring.states == ["empty"] * 3
    assert [barrier.phase for barrier in ring.full] == [barrier.phase for barrier in ring.empty] == [4, 3, 3]


def test_a_call_out_of_turn_is_refused_and_changes_nothing():
    ring = Ring(2, [0], [1])
    assert "refused" in ring.call(0, COMMIT) and "refused" in ring.call(1, RELEASE)
    assert ring.states == ["empty", "empty"] and ring.land() == "copies land: none was in flight"


def test_a_warp_that_waits_makes_no_other_call():
    ring = Ring(1, [0], [1])
    play(ring, (1, WAIT))
    assert ring.call(1, RELEASE) == "warp 1 is still in consumer_wait"


@pytest.mark.parametrize("call", [(1, ACQUIRE), (0, WAIT), (7, WAIT), (0, "wait")])
def test_a_call_that_is_not_the_warps_is_an_error(call):
    with pytest.raises(ValueError, match="producers are \\[0\\], consumers \\[1\\]"):
        Ring(1, [0], [1]).call(*call)


@pytest.mark.parametrize("ring", [(0, [0], [1]), (1, [], [1]), (1, [0], [])])
def test_a_ring_needs_stages_and_both_roles(ring):
    with pytest.raises(ValueError, match="at least one stage"):
        Ring(*ring)


def test_the_text_has_one_line_a_stage():
    ring = Ring(2, [0], [1])
    play(ring, (0, ACQUIRE), (0, COMMIT), "land")
    lines = str(ring).splitlines()
    assert len(lines) == 3
    assert lines[1].split() == "0 full 0 of 32 arrivals of phase 1 0 of 32 arrivals of phase 0".split()


KERNEL = """
#include <cooperative_groups.h>
#include <cuda/pipeline>
__global__ void move(const int* x, int* y, int tiles) {
  __shared__ int buffer[STAGES][32];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
  auto pipe = cuda::make_pipeline(cooperative_groups::this_thread_block(), &state ARGUMENT);
  const int i = threadIdx.x % 32;
  for (int tile = 0; tile < tiles; ++tile) {
    if (threadIdx.x < 32) {
      pipe.producer_acquire();
      cuda::memcpy_async(&buffer[tile % STAGES][i], x + 32 * tile + i, 4, pipe);
      pipe.producer_commit();
    } else {
      pipe.consumer_wait();
      y[32 * tile + i] = buffer[tile % STAGES][i];
      pipe.consumer_release();
    }
  }
}
"""


def run(stages, argument, tiles):
    x, y = np.arange(32 * tiles, dtype=np.int32), np.full(32 * tiles, -1, np.int32)
    kernel = Kernel(KERNEL, "move", "move.cu", {"STAGES": stages, "ARGUMENT": argument})
    return kernel.run(x, y, np.int32(tiles), grid=1, block=64, backend="emulator", seeds=2)


def play_roles(ring, tiles):
    """Let warp 0 produce and warp 1 consume until both are done or stuck; return what was said."""
    said = []
    for _ in range(tiles):
        said += play(ring, (0, ACQUIRE), (0, COMMIT), "land", (1, WAIT), (1, RELEASE))
    return said


@pytest.mark.parametrize("stages", [1, 2])
def test_the_emulator_hangs_where_the_ring_is_stuck_with_the_same_counts(stages):
    ring = Ring(stages, [0, 1], [0, 1])
    said = play_roles(ring, tiles=4)
    (fault,) = run(stages, "", tiles=4).faults
    assert ring.stuck and fault.kind is FaultKind.DEADLOCK
    text = str(fault)
    for kind, barrier in (("full", ring.full[0]), ("empty", ring.empty[0])):
        assert f"({kind})" in text and f"{barrier.arrived} of {barrier.expected} arrivals" in text
    assert any("consumer_wait: waits, full[0] has 32 of 64 arrivals" in sentence for sentence in said)
    assert re.search(r"producer_acquire: waits, empty\[0\] has 0 of 64 arrivals.*deadlock", "\n".join(said))


@pytest.mark.parametrize("stages", [1, 2])
def test_the_emulator_runs_where_the_ring_runs(stages):
    ring = Ring(stages, [0], [1])
    play_roles(ring, tiles=4)
    assert not ring.stuck and not ring.waiting
    assert run(stages, ", 32", tiles=4).ok
