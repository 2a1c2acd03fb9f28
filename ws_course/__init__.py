"""GPU warp specialization, taught with kernels that run: on a GPU, or in an emulator on the CPU.

The names below are all that a lesson needs at its top; each is imported when it is first used, so that
``import ws_course`` stays quick and asks for no GPU software.
"""

from importlib import import_module

__version__ = "0.1.0"

_HOME = {
    "Kernel": "ws_course.runtime.kernel",
    "Result": "ws_course.runtime.result",
    "Fault": "ws_course.faults",
    "FaultKind": "ws_course.faults",
    "TileProblem": "ws_course.problem",
    "Machine": "ws_course.device",
    "this_machine": "ws_course.device",
    "check_kernel": "ws_course.check",
}

__all__ = ["Fault", "FaultKind", "Kernel", "Machine", "Result", "TileProblem", "check_kernel", "rung", "this_machine"]


def __getattr__(name: str) -> object:
    if name == "rung":
        value = import_module("ws_course.kernels.catalog").get
    elif name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    else:
        raise AttributeError(f"module 'ws_course' has no attribute {name!r}: it has {', '.join(__all__)}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(ipython: object) -> None:
    """Add the ``%%cuda`` cell magic to a notebook: ``%load_ext ws_course``."""
    import_module("ws_course.magic").load_ipython_extension(ipython)
