"""Import numba.cuda the right way round: for the GPU, or for the simulator, which must be chosen before the import."""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType

import numpy as np

from ws_course import device

VARIABLE = "NUMBA_ENABLE_CUDASIM"


def load_cuda() -> ModuleType:
    """Return ``numba.cuda``; on a machine without a GPU it is the simulator, which runs each thread as Python code.

    ``NUMBA_ENABLE_CUDASIM=1`` chooses the simulator on any machine. Raises ``RuntimeError`` with the fix if numba.cuda
    was imported earlier for a GPU that is not there, or before the variable was set.
    """
    state = device.simulator()
    if state == "off" and not device.driver().gpus and "numba.cuda" in sys.modules:
        state = "too late"
    if state == "too late":
        raise RuntimeError(
            f"numba.cuda was imported before the simulator was chosen ({VARIABLE}=1), and one process cannot change "
            "that: restart the Python kernel and import this first, or set the variable before starting Jupyter"
        )
    if state == "on" or not device.driver().gpus:
        from numba.core import config

        os.environ[VARIABLE] = "1"
        config.ENABLE_CUDASIM = 1  # numba read the variable when it was first imported, perhaps before it was set
    if not hasattr(np, "row_stack"):
        np.row_stack = np.vstack  # numba-cuda 0.30 asks for the alias, which NumPy 2.5 removed
    return importlib.import_module("numba.cuda")


def simulated() -> bool:
    """Return whether numba.cuda is the simulator in this process (it must have been imported)."""
    return device.simulator() == "on"
