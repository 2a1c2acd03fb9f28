"""Run a kernel on the GPU or in the emulator behind one protocol."""

from ws_course.runtime.backends import Backend, BackendError, get
from ws_course.runtime.kernel import Kernel
from ws_course.runtime.launch import Launch
from ws_course.runtime.result import Result, Span
from ws_course.runtime.spans import Window
from ws_course.runtime.tensormap import TensorMap

__all__ = ["Backend", "BackendError", "Kernel", "Launch", "Result", "Span", "TensorMap", "Window", "get"]
