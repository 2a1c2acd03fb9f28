"""Artificial data, clearly so: the device is called "Test device" and its clock reads the year 2000."""

import pytest

from ws_course.bench.record import Measurement, Record
from ws_course.runtime.result import Span

BASE_MS = {
    "tile_00_one_buffer": 0.4,
    "tile_01_double_buffer": 0.3,
    "tile_02_cp_async": 0.28,
    "tile_03_pipeline_unified": 0.29,
    "tile_04_pipeline_roles": 0.25,
}
TILES = 16384


def _measurement(kernel, ctas, **params):
    milliseconds = BASE_MS[kernel] * params["INTENSITY"] * (0.8 + 0.2 / ctas)
    return Measurement(
        kernel=kernel,
        params=params,
        ctas_per_sm=ctas,
        problem={
            "name": "tile",
            "tiles": TILES,
            "tile": 64,
            "bytes": TILES * 49152,
            "flops": TILES * 2 * 64**3 * params["INTENSITY"],
        },
        launch={"grid": 132 * ctas, "block": 256, "smem": 0},
        times_ms=tuple(milliseconds * (1 + 0.002 * i) for i in range(-7, 8)),
        check={"ok": True, "max_error": 0.0, "tolerance": 1e-3},
    )


def _artificial_record(**changes):
    """All five rungs at 1 and 2 CTAs per SM and intensities 1 and 4; three stages only at 1 CTA per SM."""
    measurements = []
    for intensity in (1, 4):
        for ctas in (1, 2):
            for kernel in BASE_MS:
                stages = (2, 3) if ctas == 1 else (2,)
                if kernel < "tile_02":
                    measurements.append(_measurement(kernel, ctas, INTENSITY=intensity))
                elif kernel < "tile_04":
                    measurements += [_measurement(kernel, ctas, INTENSITY=intensity, STAGES=s) for s in stages]
                else:
                    measurements += [
                        _measurement(kernel, ctas, INTENSITY=intensity, STAGES=s, LOADER_WARPS=w, STORER_WARPS=t)
                        for s in stages
                        for w in (1, 4)
                        for t in (1, 2)
                    ]
    given = {
        "set": "tile-ladder",
        "device": {"name": "Test device", "sm_count": 132},
        "versions": {},
        "date": "2000-01-01",
        "method": {},
        "limits": {"copy_gb_s": 4000.0, "fp32_tflop_s": 60.0},
        "measurements": tuple(measurements),
    }
    return Record(**{**given, **changes})


@pytest.fixture(scope="session")
def artificial_record():
    return _artificial_record


@pytest.fixture
def record():
    return _artificial_record()


@pytest.fixture
def spans():
    work = []
    for tile in range(3):
        t = 10 * tile
        work += [
            Span(0, 0, "load", t, t + 6, tile),
            Span(0, 0, "wait", t + 6, t + 10, -1, "empty[0]"),
            Span(0, 3, "wait", t, t + 16, -1, "out full"),
            Span(0, 3, "store", t + 16, t + 18, tile),
        ]
        for warp in (1, 2):
            work += [
                Span(0, warp, "wait", t, t + 6, -1, "full[0]"),
                Span(0, warp, "compute", t + 6, t + 10, tile),
            ]
    return work
