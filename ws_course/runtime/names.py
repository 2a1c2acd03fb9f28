"""Read the names in CUDA C++ text: its ``__global__`` functions and their parameters, without compiling it."""

from __future__ import annotations

import re

_NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_ATTRIBUTE = re.compile(
    r"(?:__\w+__|alignas)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
)  # such as __launch_bounds__(…)
_KERNEL = re.compile(r"__global__\b[^;{}()]*?\b(\w+)\s*\(([^()]*)\)")


def entry_points(source: str) -> tuple[str, ...]:
    """Return the names of the ``__global__`` functions, in order, each once."""
    return tuple(dict.fromkeys(name for name, _ in _kernels(source)))


def parameter_names(source: str, entry: str) -> tuple[str, ...]:
    """Return the parameter names of a ``__global__`` function; () if the text has no such function.

    ``entry`` may be a template instance (``"scale<4>"``). A parameter without a name is called ``argument 2`` (from 1).
    """
    wanted = entry.partition("<")[0].strip()
    text = next((parameters for name, parameters in _kernels(source) if name == wanted), "")
    names = []
    for number, part in enumerate(_split(text), start=1):
        match = re.search(r"[\w>*&]\s*\b(\w+)\s*(?:\[[^\]]*\]\s*)?$", part.partition("=")[0].strip())
        names.append(match[1] if match else f"argument {number}")
    return tuple(names)


def _kernels(source: str) -> list[tuple[str, str]]:
    code = _ATTRIBUTE.sub(" ", _NOT_CODE.sub(" ", source))
    return _KERNEL.findall(code)


def _split(parameters: str) -> list[str]:
    """Split at the commas that are not inside a template's angle brackets."""
    parts, depth = [""], 0
    for c in parameters:
        depth += (c == "<") - (c == ">")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [part for part in parts if part.strip()]
