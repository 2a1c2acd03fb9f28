"""The GPU backend's words, and what it says on a machine that has no GPU."""

import numpy as np
import pytest

from ws_course import device
from ws_course.build import nvrtc
from ws_course.faults import FaultKind
from ws_course.runtime import BackendError, Kernel, Launch, backends, gpu
from ws_course.runtime.arguments import bind
from ws_course.runtime.gpu_worker import Job, Worker

no_gpu = pytest.mark.skipif(bool(device.driver().gpus), reason="this machine has a GPU")
KERNEL = Kernel('extern "C" __global__ void k(float* x) { x[threadIdx.x] = 1; }', "k")


@no_gpu
def test_without_a_gpu_the_fix_is_named():
    with pytest.raises(BackendError, match=r"no GPU can be used here: .*ws-course doctor.*backend='emulator'"):
        KERNEL.run(np.zeros(32, np.float32), grid=1, block=32, backend="gpu")


@no_gpu
def test_a_worker_that_cannot_reach_the_gpu_says_why_and_leaves_nothing_behind():
    cubin = nvrtc.compile_cubin(KERNEL.source, "k", arch="sm_90")
    bound = bind(cubin.parameters, (np.zeros(32, np.float32),), "k")
    worker = Worker()
    for _ in range(2):  # a failed start must not spoil the next one
        with pytest.raises(BackendError, match="the GPU cannot be used: .+ws-course doctor"):
            worker.run(Job(cubin, bound.arguments, Launch(1, 32), "k.cu"), bound, timeout=5)
        assert worker._process is None and worker._pipe is None and worker._printed is None


def test_an_old_gpu_or_driver_is_refused_with_its_numbers(monkeypatch):
    old = device.Driver("470.1", (11, 4), (device.Gpu("Old GPU", (6, 1)),))
    monkeypatch.setattr(device, "driver", lambda: old)
    with pytest.raises(BackendError, match=r"Old GPU .compute capability 6.1, driver for CUDA 11.4"):
        gpu.first_gpu()


@pytest.mark.parametrize(
    ("capability", "arch"),
    [((7, 5), "sm_75"), ((8, 0), "sm_80"), ((8, 9), "sm_89"), ((9, 0), "sm_90a"), ((12, 0), "sm_120a")],
)
def test_compiles_for_the_chip_that_is_there(capability, arch):
    found = device.Gpu("some GPU", capability)
    assert gpu.architecture(found) == arch
    assert found.runs(arch)
    assert gpu.compile_for(found, KERNEL.source, "k", "k.cu", {}).arch == arch


@pytest.mark.parametrize(
    ("error", "kind", "says"),
    [
        (gpu.DriverError("CUDA_ERROR_ILLEGAL_ADDRESS", "running the kernel"), FaultKind.OUT_OF_BOUNDS, "no array"),
        (gpu.DriverError("CUDA_ERROR_MISALIGNED_ADDRESS", "running"), FaultKind.LAUNCH_ERROR, "multiple"),
        (gpu.DriverError("CUDA_ERROR_SOMETHING_NEW", "running"), FaultKind.LAUNCH_ERROR, "CUDA_ERROR_SOMETHING_NEW"),
        (gpu.LaunchRefused("too large: use less"), FaultKind.LAUNCH_ERROR, "too large: use less"),
        (MemoryError("1 TB"), FaultKind.LAUNCH_ERROR, "do not fit"),
        (RuntimeError("odd"), FaultKind.LAUNCH_ERROR, "RuntimeError: odd"),
    ],
)
def test_failed_launches_are_explained(error, kind, says):
    fault = gpu.explain(error, "lesson.cu")
    assert (fault.kind, fault.file) == (kind, "lesson.cu")
    assert says in fault.message


def test_the_backend_has_its_name():
    assert backends.get("gpu").name == "gpu"
    with pytest.raises(ValueError, match='"auto", "gpu" or "emulator"'):
        backends.get("tpu")
