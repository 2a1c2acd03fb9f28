"""What a record says beside its numbers: the versions of what compiled and launched, and the clocks of the card."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata

from ws_course.build import nvrtc


def versions() -> dict[str, str]:
    """Return the versions of what compiles and launches."""
    found = {"python": sys.version.split()[0], "nvrtc": ".".join(map(str, nvrtc.nvrtc_version()))}
    for name in (
        "cuda-core",
        "cuda-bindings",
        "cupy-cuda13x",
        "nvidia-cuda-nvrtc",
        "nvidia-cuda-cccl",
        "numpy",
        "ws-course",
    ):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def clock_rates() -> dict[str, str]:
    """Return the clocks, temperature and power that nvidia-smi tells now; nothing without it."""
    fields = ("clocks.sm", "clocks.mem", "clocks.max.sm", "clocks.max.mem", "temperature.gpu", "power.draw")
    command = ["nvidia-smi", "-i", "0", f"--query-gpu={','.join(fields)}", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return {}
    return dict(zip(fields, (value.strip() for value in done.stdout.split(",")), strict=False))
