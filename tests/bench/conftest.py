"""A record with made-up numbers for its bookkeeping, and the committed one for what it says."""

import pytest

from ws_course.bench import record
from ws_course.bench.record import Measurement, Record


def _measurement(kernel="k", ctas=1, times=(2.0, 1.0, 4.0), **params):
    return Measurement(
        kernel=kernel,
        params={"INTENSITY": 1, "COMPUTE_THREADS": 128, **params},
        ctas_per_sm=ctas,
        problem={"name": "tile", "tiles": 10, "tile": 64, "bytes": 8_000_000, "flops": 4_000_000_000},
        launch={"grid": 4, "block": 128, "smem": 0},
        times_ms=times,
        check={"ok": True, "max_error": 1e-6, "tolerance": 1e-4},
        resources={"registers": 40, "static_smem": 0, "local": 0},
    )


def _made_up(*measurements):
    """Return a record with numbers that no device has: only its bookkeeping is tested."""
    return Record(
        set="tile-ladder",
        device={"name": "Test Device 1", "sm_count": 4, "driver": "1", "cuda_driver": "13.0", "clocks": {}},
        versions={"nvrtc": "13.0"},
        date="2026-01-02",
        method={"repetitions": "3"},
        limits={"copy_gb_s": 16.0, "fp32_tflop_s": 4.0},
        measurements=measurements,
    )


@pytest.fixture
def measurement():
    return _measurement


@pytest.fixture
def made_up():
    return _made_up


@pytest.fixture(scope="session")
def h200():
    return record.load("tile-ladder", "NVIDIA H200")
