"""``%%cuda``: write CUDA C++ in a notebook cell and get a kernel object; register with ``%load_ext ws_course``."""

from __future__ import annotations

import builtins
import html
import re
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, ModuleType

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, cell_magic, magics_class, no_var_expand
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

from ws_course.check import Verdict
from ws_course.faults import Fault
from ws_course.kernels import catalog
from ws_course.runtime import BackendError, Kernel, Result
from ws_course.runtime.names import entry_points


@dataclass(frozen=True)
class CompileReport:
    """Show what became of a ``%%cuda`` cell: the kernel that is ready, or the compiler's errors at the cell's lines.

    ``kernel.source`` keeps the cell's line numbers: its first line stands for the ``%%cuda`` line.
    """

    name: str
    kernel: Kernel
    faults: tuple[Fault, ...]

    def __str__(self) -> str:
        if not self.faults:
            return f"{self.name} is compiled and ready to run"
        count = f"{len(self.faults)} error{'s' if len(self.faults) != 1 else ''}"
        return "\n".join([f"{self.name} does not compile: {count}", *(self._quoted(fault) for fault in self.faults)])

    __repr__ = __str__

    def _quoted(self, fault: Fault) -> str:
        lines = self.kernel.source.splitlines()
        if fault.file != self.kernel.file or not 2 <= fault.line <= len(lines):
            return f"\n{fault}"
        line = lines[fault.line - 1]
        text = [f"\nline {fault.line}: {fault.message}", f"{fault.line:5} | {line}"]
        if 1 <= fault.column <= len(line) + 1:
            # tabs stay tabs, so that the caret stands below its character whatever a tab is worth
            indent = "".join("\t" if c == "\t" else " " for c in line[: fault.column - 1])
            text.append(f"      | {indent}^")
        if fault.hint:
            text.append(f"    usual cause: {fault.hint}")
        return "\n".join(text)

    def _repr_html_(self) -> str:
        colour = "#b3261e" if self.faults else "#3b7d3b"
        # the caret stands below its character only in a font of equal widths
        font = "font-family:var(--jp-code-font-family,monospace)"
        style = f"border-left:4px solid {colour};padding:2px 0 2px 10px;margin:0;white-space:pre-wrap;{font}"
        return f'<pre style="{style}">{html.escape(str(self))}</pre>'


def make_kernel(
    body: str, name: str = "", entry: str = "", defines: dict[str, int | str] | None = None
) -> tuple[str, Kernel]:
    """Return the name and the kernel for the text below a ``%%cuda`` line.

    ``name`` defaults to the one ``__global__`` function, and ``entry`` to it as well, or to the function called
    ``name`` where there are several. Raises ``UsageError`` when that leaves a choice open.
    """
    found = entry_points(body)
    if not found:
        raise UsageError(
            "the cell has no __global__ function, so there is no kernel in it: start one with __global__ void name(…)"
        )
    if not entry:
        if name not in found and len(found) > 1:
            raise UsageError(
                f"the cell has {len(found)} kernels, {', '.join(found)}: say which with --entry {found[0]}"
            )
        entry = name if name in found else found[0]
    name = name or re.sub(r"\W.*", "", entry)
    return name, Kernel("\n" + body, entry, f"cell {name}", dict(defines or {}))


@magics_class
class CudaMagics(Magics):
    """Hold the ``%%cuda`` cell magic."""

    def __init__(self, shell: InteractiveShell, pictures: Pictures) -> None:
        super().__init__(shell)
        self.pictures = pictures

    # The line is taken as it stands: expanding {…} or $… would run Python from a cell that is C++.
    @no_var_expand
    @magic_arguments()
    @argument(
        "name", nargs="?", default="", help="the variable that becomes the kernel; default: its __global__'s name"
    )
    @argument("-D", dest="defines", metavar="NAME=VALUE", action="append", default=[], help="a compile-time constant")
    @argument("--entry", default="", help="the __global__ function, where the cell has more than one")
    @argument("--backend", default="auto", choices=("auto", "gpu", "emulator"), help="which compiler looks for errors")
    @cell_magic
    def cuda(self, line: str, cell: str) -> None:
        """Compile the cell's CUDA C++ and make it a kernel object.

        ::

            %%cuda scale -D FACTOR=2
            __global__ void scale(float* x) { x[threadIdx.x] *= FACTOR; }

        and then, in another cell, ``scale.run(x, grid=1, block=32)``.
        """
        asked = parse_argstring(self.cuda, line)
        name, kernel = make_kernel(cell, asked.name, asked.entry, dict(map(_define, asked.defines)))
        self._refuse_to_hide(name)
        try:
            faults = kernel.compile(asked.backend)
        except BackendError as missing:
            raise UsageError(str(missing)) from None
        # A cell that does not compile replaces the kernel too: running the version from before would mislead.
        self.shell.user_ns[name] = kernel
        self.pictures.sources[kernel.file] = kernel.source
        display(CompileReport(name, kernel, faults))

    def _refuse_to_hide(self, name: str) -> None:
        if not name.isidentifier():
            raise UsageError(f"{name!r} cannot be a variable's name: use letters, digits and _")
        taken = self.shell.user_ns.get(name, getattr(builtins, name, None))
        if isinstance(taken, (FunctionType, BuiltinFunctionType, ModuleType, type)):
            raise UsageError(
                f"{name} already names a function, class or module here: give the kernel a name of its own"
            )


def _define(text: str) -> tuple[str, int | str]:
    name, _, value = text.partition("=")
    if not name.isidentifier():
        raise UsageError(f"-D {text}: a constant is written -D NAME=VALUE")
    value = value or "1"
    return name, int(value) if re.fullmatch(r"[+-]?\d+", value) else value


class Pictures:
    """Draw faults, results and verdicts in a notebook, with the lines of source that they name."""

    def __init__(self) -> None:
        self.sources: dict[str, str] = {}  # of %%cuda cells, by the name that faults use

    def html(self, value: Fault | Result | Verdict) -> str:
        """Return the HTML of a value; everything that comes from a kernel is escaped."""
        from ws_course.viz.faults import fault_html

        if isinstance(value, Fault):
            return fault_html(value, self.source(value.file))
        if not value.faults:
            return f'<pre style="margin:0">{html.escape(str(value))}</pre>'
        title = f"<p>{html.escape(str(value).splitlines()[0])}</p>" if isinstance(value, Verdict) else ""
        return title + "".join(map(self.html, value.faults))

    def source(self, file: str) -> str:
        """Return the text of a ``%%cuda`` cell or of a kernel file of the course; "" if it is neither."""
        if file in self.sources:
            return self.sources[file]
        return next((spec.source for spec in catalog.ALL if spec.path.name == file), "")


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register ``%%cuda`` and the pictures of faults, results and verdicts in an IPython session."""
    pictures = Pictures()
    shell.register_magics(CudaMagics(shell, pictures))
    for kind in (Fault, Result, Verdict):
        shell.display_formatter.formatters["text/html"].for_type(kind, pictures.html)
        shell.display_formatter.formatters["text/plain"].for_type(kind, lambda value, p, _cycle: p.text(str(value)))
