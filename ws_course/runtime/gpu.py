"""The GPU backend: load machine code, launch it, and say in plain words what the driver refused.

:class:`GpuBackend` runs kernels of unknown quality in a process of its own (:mod:`ws_course.runtime.gpu_worker`).
The rest of this module is what happens inside a process that uses the GPU: the worker and the benchmarks call it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from ws_course import device
from ws_course.build import nvrtc
from ws_course.faults import Fault, FaultKind
from ws_course.kernels import catalog
from ws_course.runtime import spans
from ws_course.runtime.arguments import Array, Bound, Map, Value, bind
from ws_course.runtime.backends import BackendError
from ws_course.runtime.gpu_worker import Job, Worker
from ws_course.runtime.kernel import Kernel
from ws_course.runtime.launch import Launch
from ws_course.runtime.result import Result
from ws_course.runtime.tensormap import TensorMap

FIX = "run `ws-course doctor` to see what is missing, or use backend='emulator', which needs no GPU"


class GpuBackend:
    """Run kernels on the first GPU of this machine, in a subprocess that is killed when a kernel hangs."""

    name = "gpu"

    def compile(self, kernel: Kernel) -> tuple[Fault, ...]:
        """Compile for the GPU and return the compiler's errors (empty: it compiles); :meth:`run` reuses the result."""
        try:
            compile_for(first_gpu(), kernel.source, kernel.entry, kernel.file, dict(kernel.defines))
        except nvrtc.CompileError as error:
            return _compile_faults(error, kernel)
        except nvrtc.ToolchainError as error:
            raise BackendError(str(error)) from None
        return ()

    def run(
        self,
        kernel: Kernel,
        args: tuple,
        launch: Launch,
        *,
        seeds: int = 1,
        trace: bool | spans.Window = False,
        timeout: float = 30.0,
        checks: bool = True,
    ) -> Result:
        """Compile, launch and wait; see :meth:`ws_course.runtime.kernel.Kernel.run`.

        A GPU runs one schedule, its own, and does not check accesses: ``seeds`` and ``checks`` change nothing here.
        ``trace`` builds the kernel with tracing, which costs some time, and brings its spans back in ns; a
        :class:`ws_course.runtime.spans.Window` says which. ``Result.stats["trace"]`` then says how far to believe them:
        "sms" (block to SM), "lost" (spans without room), "tick_ns", "mhz" and "fitted" of
        :class:`ws_course.runtime.spans.Trace`.
        """
        gpu = first_gpu()
        defines = {**kernel.defines, **({spans.DEFINE: 1} if trace else {})}
        try:
            cubin = compile_for(gpu, kernel.source, kernel.entry, kernel.file, defines)
        except nvrtc.CompileError as error:
            return Result(self.name, gpu.name, 0.0, faults=_compile_faults(error, kernel))
        except nvrtc.ToolchainError as error:
            raise BackendError(str(error)) from None
        bound = bind(cubin.parameters, args, kernel.entry)
        window = (trace if isinstance(trace, spans.Window) else spans.Window()).resolve(launch) if trace else None
        answer = Worker.shared().run(Job(cubin, bound.arguments, launch, kernel.file, window), bound, timeout)
        found, stats = (), answer.stats
        if answer.records is not None:
            decoded = spans.decode(answer.records, answer.mhz)
            found, stats = decoded.spans, {**stats, "trace": decoded.facts()}
        return Result(
            self.name,
            gpu.name,
            answer.seconds,
            faults=answer.faults,
            spans=found,
            printed=answer.printed,
            stats=stats,
        )


def first_gpu() -> device.Gpu:
    """Return the GPU that kernels run on; raise ``BackendError`` with the fix if there is none."""
    found = device.driver()
    if not found.gpus:
        raise BackendError(f"no GPU can be used here: {found.error or 'the driver lists no device'}; {FIX}")
    gpu = found.gpus[0]
    if gpu.capability < device.CAPABILITY or found.cuda < device.CUDA:
        raise BackendError(
            f"{gpu.name} (compute capability {gpu.capability[0]}.{gpu.capability[1]}, driver for CUDA "
            f"{'.'.join(map(str, found.cuda))}) cannot run what CUDA 13 compiles; {FIX}"
        )
    return gpu


def architecture(gpu: device.Gpu) -> str:
    """Return what to compile for: "sm_80", from Hopper on with the instructions of that chip alone, "sm_90a"."""
    major, minor = gpu.capability
    return f"sm_{major}{minor}{'a' if major >= 9 else ''}"


def compile_for(gpu: device.Gpu, source: str, entry: str, file: str, defines: Mapping[str, int | str]) -> nvrtc.Cubin:
    """Compile for one device; raises as :func:`ws_course.build.nvrtc.compile_cubin`."""
    return nvrtc.compile_cubin(source, entry, file=file, defines=defines, arch=architecture(gpu))


def _compile_faults(error: nvrtc.CompileError, kernel: Kernel) -> tuple[Fault, ...]:
    errors = [d for d in error.diagnostics if d.severity == "error"]
    errors = errors or [nvrtc.Diagnostic(kernel.file, 0, "error", error.log)]
    return tuple(
        Fault(
            FaultKind.COMPILE_ERROR,
            d.message,
            file=d.file,
            line=d.line,
            column=d.character(kernel.source) if d.file == kernel.file else 0,
        )
        for d in errors[:10]
    )


# ---- inside a process that uses the GPU ----


class DriverError(RuntimeError):
    """Hold an error code of the CUDA driver, ``CUDA_ERROR_…``, and what was being done."""

    def __init__(self, name: str, doing: str) -> None:
        self.name = name
        super().__init__(f"{name} while {doing}")


class LaunchRefused(ValueError):
    """Say why a launch cannot work on this device, and what to change."""


_FAULTS = {
    "CUDA_ERROR_ILLEGAL_ADDRESS": (
        FaultKind.OUT_OF_BOUNDS,
        "A thread read or wrote memory that belongs to no array.",
        "an index past the end: check the last block, the last tile and every pointer; the emulator names the line",
    ),
    "CUDA_ERROR_MISALIGNED_ADDRESS": (
        FaultKind.LAUNCH_ERROR,
        "A thread used an address that is not a multiple of the access size.",
        "a float4 or 16-byte copy at an address that is not a multiple of 16: align the array and the row length",
    ),
    "CUDA_ERROR_LAUNCH_FAILED": (
        FaultKind.LAUNCH_ERROR,
        "The GPU stopped the kernel with an exception.",
        "an address outside shared memory, an invalid barrier operation, or a trap; the emulator names the line",
    ),
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": (
        FaultKind.LAUNCH_ERROR,
        "The kernel executed an instruction that the GPU refuses.",
        "a barrier used before init(), or an instruction whose operands are not allowed",
    ),
    "CUDA_ERROR_INVALID_ADDRESS_SPACE": (
        FaultKind.LAUNCH_ERROR,
        "An instruction for shared memory was given an address elsewhere, or the other way round.",
        "a pointer to global memory where a shared-memory pointer is needed",
    ),
    "CUDA_ERROR_ASSERT": (FaultKind.LAUNCH_ERROR, "An assert() in the kernel failed.", "see what the kernel printed"),
    "CUDA_ERROR_OUT_OF_MEMORY": (
        FaultKind.LAUNCH_ERROR,
        "The arrays do not fit into the memory of the GPU.",
        "arrays that are too large, or another program that holds the memory: see nvidia-smi",
    ),
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": (
        FaultKind.LAUNCH_ERROR,
        "One block needs more registers or shared memory than an SM has.",
        "too many threads for the registers each one uses: use a smaller block or __launch_bounds__",
    ),
    "CUDA_ERROR_NO_BINARY_FOR_GPU": (
        FaultKind.LAUNCH_ERROR,
        "The kernel was compiled for another chip than this GPU.",
        "an architecture with a letter (sm_90a) runs on that chip only",
    ),
}


def explain(error: Exception, file: str) -> Fault:
    """Return what a failed launch means, as a fault."""
    if isinstance(error, LaunchRefused):
        return Fault(FaultKind.LAUNCH_ERROR, str(error), file=file)
    name = "CUDA_ERROR_OUT_OF_MEMORY" if isinstance(error, MemoryError) else getattr(error, "name", "")
    other = (FaultKind.LAUNCH_ERROR, "The GPU could not run the kernel.", "")
    kind, message, hint = _FAULTS.get(name, other)
    return Fault(kind, f"{message} ({type(error).__name__ + ': ' if not name else ''}{error})", hint, file=file)


def _cu():
    from cuda.bindings import driver

    return driver


def _ask(answer: tuple, doing: str) -> object:
    code, *values = answer
    if int(code) != 0:
        _, name = _cu().cuGetErrorName(code)
        raise DriverError(name.decode() if isinstance(name, bytes) else f"error {int(code)}", doing)
    return values[0] if values else None


def start() -> None:
    """Make the first GPU's primary context current in this thread, as CuPy does."""
    import cupy

    cupy.cuda.Device(0).use()
    cupy.cuda.runtime.free(0)


def synchronize() -> None:
    """Wait until the GPU is idle; raise ``DriverError`` if a kernel failed since the last call."""
    _ask(_cu().cuCtxSynchronize(), "running the kernel")


@dataclass(frozen=True)
class Limits:
    """Hold what a device allows: shared memory per block (opt-in) and per SM in bytes, SMs, clusters or not."""

    smem_per_block: int
    smem_per_sm: int
    sms: int
    clusters: bool


def limits() -> Limits:
    """Return the limits of the current device."""
    cu = _cu()
    attribute = cu.CUdevice_attribute

    def ask(which: object) -> int:
        return int(_ask(cu.cuDeviceGetAttribute(which, 0), "asking the device"))

    return Limits(
        ask(attribute.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        ask(attribute.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
        ask(attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
        bool(ask(attribute.CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH)),
    )


class Function:
    """A kernel that is loaded on the current device.

    ``registers`` per thread, ``static_smem`` and ``local`` (spills, stack) in bytes, ``max_threads`` per block.
    """

    def __init__(self, cubin: nvrtc.Cubin) -> None:
        cu = _cu()
        self.parameters = cubin.parameters
        self.entry = cubin.symbol
        self._module = _ask(cu.cuModuleLoadData(cubin.image), "loading the kernel")
        self._function = _ask(cu.cuModuleGetFunction(self._module, cubin.symbol.encode()), "looking up the kernel")
        attribute = cu.CUfunction_attribute
        self.registers = self._attribute(attribute.CU_FUNC_ATTRIBUTE_NUM_REGS)
        self.static_smem = self._attribute(attribute.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)
        self.local = self._attribute(attribute.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)
        self.max_threads = self._attribute(attribute.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)

    def _attribute(self, which: object) -> int:
        return int(_ask(_cu().cuFuncGetAttribute(which, self._function), "asking about the kernel"))

    def _set(self, name: str, value: int) -> None:
        which = getattr(_cu().CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        _ask(_cu().cuFuncSetAttribute(self._function, which, value), f"setting {name}")

    def ctas_per_sm(self, block: int, smem: int) -> int:
        """Return how many blocks of ``block`` threads and ``smem`` dynamic bytes are resident on one SM at once."""
        if self.static_smem + smem > limits().smem_per_block or block > self.max_threads:
            return 0
        self._set("MAX_DYNAMIC_SHARED_SIZE_BYTES", smem)
        cu = _cu()
        return int(_ask(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(self._function, block, smem), "occupancy"))

    def clusters(self, launch: Launch) -> int:
        """Return how many clusters of a launch are resident on the device at once; raise as :meth:`prepare`."""
        if not limits().clusters:
            raise LaunchRefused("This GPU has no thread block clusters: they need compute capability 9.0 (Hopper).")
        blocks = launch.cluster[0] * launch.cluster[1] * launch.cluster[2]
        self._set("MAX_DYNAMIC_SHARED_SIZE_BYTES", launch.smem)
        if blocks > 8:  # the portable size (CUDA C++ Programming Guide, "Thread Block Clusters")
            self._set("NON_PORTABLE_CLUSTER_SIZE_ALLOWED", 1)
        try:
            return int(
                _ask(_cu().cuOccupancyMaxActiveClusters(self._function, self._config(launch)), "counting clusters")
            )
        except DriverError as error:
            raise LaunchRefused(f"A cluster of {blocks} blocks cannot be launched here ({error.name}).") from None

    def prepare(self, arguments: Sequence[int | bytes], launch: Launch) -> Callable[[], None]:
        """Return a function that launches once: ``arguments`` are device addresses or the bytes of scalars.

        Raises ``LaunchRefused`` with the reason if the device cannot launch this way. The launch itself is
        asynchronous and raises ``DriverError``.
        """
        self._check(launch)
        self._set("MAX_DYNAMIC_SHARED_SIZE_BYTES", launch.smem)
        config = self._config(launch)
        if launch.cluster != (1, 1, 1):
            self._check_cluster(launch)
        buffers = [ctypes.create_string_buffer(_bytes(argument)) for argument in arguments]
        addresses = (ctypes.c_void_p * len(buffers))(*(ctypes.addressof(buffer) for buffer in buffers))
        cu, function = _cu(), self._function

        def fire(keep: tuple = (buffers, addresses, self)) -> None:
            _ask(cu.cuLaunchKernelEx(config, function, ctypes.addressof(addresses), 0), "launching the kernel")

        return fire

    def arm(self, launch: Launch, window: spans.Window) -> Recording | None:
        """Let every launch that follows write down its spans; None if this kernel was built without tracing.

        ``window`` is resolved for ``launch``. Launches add to what is there until it is cleared.
        """
        cu = _cu()
        code, place, _ = cu.cuModuleGetGlobal(self._module, spans.SYMBOL.encode())
        if code == cu.CUresult.CUDA_ERROR_NOT_FOUND:
            return None
        _ask((code,), "looking up where to trace")
        layout = spans.layout(window, launch)
        memory = zeros(layout.itemsize, np.uint8)
        asked = (memory.data.ptr, window.blocks, window.events, window.first, window.last)
        control = np.array(asked, spans.CONTROL)
        _ask(cu.cuMemcpyHtoD(place, control.ctypes.data, control.nbytes), "asking for a trace")
        self._traced = memory  # launches write there as long as this function lives
        return Recording(memory, layout)

    def _config(self, launch: Launch) -> object:
        cu = _cu()
        config = cu.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = launch.grid
        config.blockDimX, config.blockDimY, config.blockDimZ = launch.block
        config.sharedMemBytes = launch.smem
        config.hStream = 0
        attributes = []
        if launch.cluster != (1, 1, 1):
            cluster = cu.CUlaunchAttribute()
            cluster.id = cu.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
            cluster.value.clusterDim.x, cluster.value.clusterDim.y, cluster.value.clusterDim.z = launch.cluster
            attributes.append(cluster)
        if launch.cooperative:
            cooperative = cu.CUlaunchAttribute()
            cooperative.id = cu.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
            cooperative.value.cooperative = 1
            attributes.append(cooperative)
        config.attrs = attributes
        config.numAttrs = len(attributes)
        return config

    def _check(self, launch: Launch) -> None:
        device_limits = limits()
        if launch.threads > self.max_threads:
            raise LaunchRefused(
                f"The block has {launch.threads} threads, but this kernel was compiled for at most {self.max_threads} "
                f"({self.registers} registers a thread, or its __launch_bounds__): use a smaller block."
            )
        if launch.smem + self.static_smem > device_limits.smem_per_block:
            raise LaunchRefused(
                f"The block needs {launch.smem} bytes of dynamic and {self.static_smem} of static shared memory, but a "
                f"block on this GPU has at most {device_limits.smem_per_block}: use fewer stages or smaller tiles."
            )
        resident = self.ctas_per_sm(launch.threads, launch.smem) * device_limits.sms
        if launch.cooperative and launch.blocks > resident:
            raise LaunchRefused(
                f"A cooperative grid must be resident all at once: {launch.blocks} blocks were asked for, "
                f"{resident} fit on this GPU. Use a smaller grid and a grid-stride loop."
            )

    def _check_cluster(self, launch: Launch) -> None:
        if not self.clusters(launch):
            blocks = launch.cluster[0] * launch.cluster[1] * launch.cluster[2]
            raise LaunchRefused(
                f"No cluster of {blocks} blocks fits on this GPU with {launch.threads} threads and {launch.smem} bytes "
                "of dynamic shared memory a block: use a smaller cluster or less shared memory."
            )


class Recording:
    """The memory that a traced kernel writes to."""

    def __init__(self, memory: object, layout: np.dtype) -> None:
        self._memory, self._layout = memory, layout

    def read(self) -> np.ndarray:
        """Wait for the GPU and return what was written, of type :func:`ws_course.runtime.spans.layout`."""
        synchronize()
        return np.frombuffer(download(self._memory).tobytes(), self._layout.base).reshape(self._layout.shape)

    def clear(self) -> None:
        """Forget what was written; does not wait."""
        _ask(_cu().cuMemsetD8Async(self._memory.data.ptr, 0, self._layout.itemsize, 0), "clearing memory")


def _bytes(argument: int | bytes) -> bytes:
    return argument if isinstance(argument, bytes) else int(argument).to_bytes(8, "little")


def upload(array: np.ndarray) -> object:
    """Copy an array to the GPU; the answer is a CuPy array."""
    import cupy

    return cupy.asarray(array)


def download(array: object) -> np.ndarray:
    """Copy a CuPy array back."""
    import cupy

    return cupy.asnumpy(array)


def arguments_of(bound: Bound, arrays: Sequence[object]) -> list[int | bytes]:
    """Return what :meth:`Function.prepare` takes: the addresses of CuPy ``arrays`` and the bytes of scalars."""
    found: list[int | bytes] = []
    for argument in bound.arguments:
        match argument:
            case Array(index):
                found.append(arrays[index].data.ptr)
            case Value(data):
                found.append(data)
            case Map(index, tensor):
                found.append(encode(tensor, arrays[index].data.ptr))
    return found


def encode(tensor: TensorMap, address: int) -> bytes:
    """Return the driver's 128 bytes for a tensor map on device memory (CUDA driver API, cuTensorMapEncodeTiled)."""
    cu = _cu()
    kinds = {"float32": "FLOAT32", "float64": "FLOAT64", "float16": "FLOAT16", "int32": "INT32", "int64": "INT64"}
    kinds |= {"uint8": "UINT8", "uint16": "UINT16", "uint32": "UINT32", "uint64": "UINT64"}
    name = kinds.get(tensor.array.dtype.name)
    if name is None:
        raise ValueError(f"a tensor map cannot hold {tensor.array.dtype}: use {', '.join(kinds)}")
    rank = tensor.array.ndim
    swizzle = "NONE" if not tensor.swizzle else f"{tensor.swizzle}B"
    answer = cu.cuTensorMapEncodeTiled(
        getattr(cu.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{name}"),
        rank,
        address,
        [cu.cuuint64_t(n) for n in tensor.sizes],
        [cu.cuuint64_t(n) for n in tensor.strides],
        [cu.cuuint32_t(n) for n in tensor.boxes],
        [cu.cuuint32_t(1)] * rank,
        cu.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
        getattr(cu.CUtensorMapSwizzle, f"CU_TENSOR_MAP_SWIZZLE_{swizzle}"),
        cu.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_NONE,
        cu.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
    )
    return b"".join(int(word).to_bytes(8, "little") for word in _ask(answer, "encoding a tensor map").opaque)


BUSY_CYCLES = 200_000
"""About 100 microseconds: longer than the host takes to queue two events and a launch."""


@cache
def _busy() -> Callable[[], None]:
    path = catalog.MEASURE["busy"]
    function = Function(compile_for(first_gpu(), path.read_text(encoding="utf-8"), "busy", path.name, {}))
    return function.prepare([np.int64(BUSY_CYCLES).tobytes()], Launch(1, 1))


def elapsed_ms(work: Callable[[], None]) -> float:
    """Return how long the GPU takes for what ``work`` launches, in milliseconds, by events; waits for its end.

    The GPU is kept busy until events and launches are queued: on an idle one the first event would be passed at once,
    and the time that the host takes to launch, some 12 microseconds, would count as well.
    """
    cu = _cu()
    first, last = (_ask(cu.cuEventCreate(0), "creating an event") for _ in range(2))
    try:
        _busy()()
        _ask(cu.cuEventRecord(first, 0), "recording an event")
        work()
        _ask(cu.cuEventRecord(last, 0), "recording an event")
        _ask(cu.cuEventSynchronize(last), "running the kernel")
        return float(_ask(cu.cuEventElapsedTime(first, last), "reading the time"))
    finally:
        for event in (first, last):
            cu.cuEventDestroy(event)


def nominal_mhz() -> float:
    """Return the highest clock of the SMs in MHz, which the device need not hold."""
    khz = _cu().CUdevice_attribute.CU_DEVICE_ATTRIBUTE_CLOCK_RATE
    return int(_ask(_cu().cuDeviceGetAttribute(khz, 0), "asking the device")) / 1e3


def watched(work: Callable[[], None]) -> None:
    """Run ``work`` and wait, while a profiler watches that was told not to from the start; without one, just run."""
    cu = _cu()
    _ask(cu.cuProfilerStart(), "starting the profiler")
    try:
        work()
        synchronize()
    finally:
        cu.cuProfilerStop()


def zeros(count: int, dtype: type) -> object:
    """Return a CuPy array of ``count`` zeros on the GPU."""
    import cupy

    array = cupy.empty(count, dtype)
    _ask(_cu().cuMemsetD8(array.data.ptr, 0, array.nbytes), "clearing memory")
    return array


def free_memory() -> int:
    """Return the bytes of device memory that nobody uses."""
    code, free, _ = _cu().cuMemGetInfo()
    _ask((code,), "asking for free memory")
    return int(free)


def fill_nan(array: object) -> None:
    """Fill a float32 CuPy array with NaN."""
    _ask(_cu().cuMemsetD32(array.data.ptr, 0x7FC00000, array.size), "filling memory")


def copy(to: object, source: object) -> None:
    """Copy one CuPy array over another of the same size, on the GPU; does not wait."""
    _ask(_cu().cuMemcpyDtoDAsync(to.data.ptr, source.data.ptr, source.nbytes, 0), "copying")


def facts() -> dict[str, object]:
    """Return what identifies the device and its driver: name, sm_count, driver, cuda_driver, memory and L2 in bytes."""
    cu = _cu()
    gpu = first_gpu()
    attribute = cu.CUdevice_attribute
    l2 = int(_ask(cu.cuDeviceGetAttribute(attribute.CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 0), "asking the device"))
    found = device.driver()
    return {
        "name": gpu.name,
        "sm_count": gpu.sms,
        "compute_capability": ".".join(map(str, gpu.capability)),
        "l2_bytes": l2,
        "memory_bytes": int(_ask(cu.cuDeviceTotalMem(0), "asking the device")),
        "driver": found.version,
        "cuda_driver": ".".join(map(str, found.cuda)),
    }
