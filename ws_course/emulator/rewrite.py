"""Turn a CUDA C++ kernel file into host C++: only what a macro cannot say is rewritten, and no line moves.

``__shared__`` declarations become references into the block's arena, ``asm`` statements become calls, the entry
point is appended. Everything else (qualifiers, built-in variables, intrinsics) is plain C++ for the header
``ws_emu/prelude.h``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ws_course.emulator.ptx import NotEmulated, Statement, translate

_SKIP = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


class RewriteError(ValueError):
    """Say what in the kernel file cannot be run here, at which line."""

    def __init__(self, message: str, line: int, hint: str = "", kind: str = "compile-error"):
        super().__init__(message)
        self.message, self.line, self.hint, self.kind = message, line, hint, kind


@dataclass(frozen=True)
class Rewritten:
    """Hold the host source, the names of the file's kernels, and the cluster size that the entry fixes (or 1, 1, 1)."""

    text: str
    kernels: tuple[str, ...]
    cluster: tuple[int, int, int] | None


def blank(source: str) -> str:
    """Return the source with comments and literals overwritten by spaces (newlines kept), for searching."""
    return _SKIP.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), source)


def _line(source: str, at: int) -> int:
    return source.count("\n", 0, at) + 1


def kernels_of(source: str) -> tuple[str, ...]:
    """Return the names of the ``__global__`` functions in file order."""
    names = []
    for m in re.finditer(r"\b__global__\b", bare := blank(source)):
        head = bare[m.end() :]
        paren = _function_parenthesis(head)
        name = re.search(r"([A-Za-z_]\w*)\s*$", head[:paren]) if paren is not None else None
        if name and name.group(1) not in names:
            names.append(name.group(1))
    return tuple(names)


def _function_parenthesis(head: str) -> int | None:
    """Find the parameter list's '(' after ``__global__``: the first that does not belong to an attribute."""
    at = 0
    while (paren := head.find("(", at)) >= 0:
        word = re.search(r"([A-Za-z_]\w*)\s*$", head[:paren])
        if not word or not re.fullmatch(r"__\w+__|__attribute__|alignas", word.group(1)):
            return paren
        at = _close(head, paren) + 1
    return None


def _close(text: str, at: int) -> int:
    """Return the index of the bracket that closes the one at ``at``."""
    pairs = {"(": ")", "[": "]", "{": "}"}
    opener, closer, depth = text[at], pairs[text[at]], 0
    for i in range(at, len(text)):
        depth += (text[i] == opener) - (text[i] == closer)
        if depth == 0:
            return i
    raise RewriteError(f"a '{opener}' is never closed", _line(text, at))


def _in_function(bare: str, at: int) -> bool:
    """Return whether position ``at`` lies inside a function body."""
    stack: list[bool] = []
    for i, c in enumerate(bare[:at]):
        if c == "{":
            head = bare[max(bare.rfind(";", 0, i), bare.rfind("}", 0, i), bare.rfind("{", 0, i)) + 1 : i]
            scope = re.search(r"\b(namespace|struct|class|union|enum)\b|\bextern\s+\S*\s*$", head)
            stack.append(bool(stack and stack[-1]) or ("(" in head and not (scope and not head.rstrip().endswith(")"))))
        elif c == "}" and stack:
            stack.pop()
    return bool(stack and stack[-1])


def _split(declarators: str, opening: str = "([{<", closing: str = ")]}>") -> list[str]:
    """Split at the commas outside brackets; angle brackets count in declarations, not in expressions."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(declarators):
        depth += (c in opening) - (c in closing)
        if c == "," and depth == 0:
            parts.append(declarators[start:i])
            start = i + 1
    return [*parts, declarators[start:]]


@dataclass(frozen=True)
class _Shared:
    start: int
    end: int  # of the ';'
    base: str
    declarators: list[tuple[str, str, str]]  # stars of a pointer, name, dimensions
    external: bool
    alignment: str


def _shared_declaration(source: str, bare: str, at: int) -> _Shared:
    start = max(bare.rfind(c, 0, at) for c in ";{}") + 1
    # A preprocessor line, a label or a condition may precede the declaration.
    while (hash_at := re.match(r"\s*#[^\n]*\n", bare[start:])) is not None:
        start += hash_at.end()
    if (label := re.match(r"\s*(?:case\b[^:]*|default|public|private)\s*:(?!:)", bare[start:])) is not None:
        start += label.end()
    start += len(bare[start:]) - len(bare[start:].lstrip())
    depth, end = 0, at
    while end < len(bare) and not (bare[end] == ";" and depth == 0):
        depth += (bare[end] in "([{") - (bare[end] in ")]}")
        end += 1
    text = " ".join(bare[start:end].split())
    if "__restrict__" in text or re.search(r"=\s*[^=]", text):
        raise RewriteError(
            "a __shared__ variable cannot be initialised", _line(source, at), "assign to it in the kernel body"
        )
    alignment = " ".join(re.findall(r"alignas\s*\([^()]*(?:\([^()]*\)[^()]*)*\)|__align__\s*\([^()]*\)", text))
    text = re.sub(r"alignas\s*\([^()]*(?:\([^()]*\)[^()]*)*\)|__align__\s*\([^()]*\)", " ", text)
    external = bool(re.search(r"\bextern\b", text))
    text = re.sub(r"\b(__shared__|extern|static|inline)\b", " ", text).strip()
    first, *rest = _split(text)
    m = re.match(r"(.*?[\w>\}])((?:\s|\*)+)([A-Za-z_]\w*)\s*((?:\[[^\]]*\]\s*)*)$", first.strip(), re.S)
    if not m:
        raise RewriteError(
            f"this __shared__ declaration is not understood: {text};",
            _line(source, at),
            "write it as `__shared__ type name[size];`",
        )
    declarators = [(m.group(2).strip(), m.group(3), m.group(4).strip())]
    for part in rest:
        n = re.match(r"([\s*]*)([A-Za-z_]\w*)\s*((?:\[[^\]]*\]\s*)*)$", part)
        if not n:
            raise RewriteError(
                f"this __shared__ declaration is not understood: {text};",
                _line(source, at),
                "declare one variable per line",
            )
        declarators.append((n.group(1).strip(), n.group(2), n.group(3).strip()))
    return _Shared(start, end, m.group(1).strip(), declarators, external, alignment)


def rewrite(source: str, entry: str, file: str = "kernel.cu") -> Rewritten:
    """Return host C++ for the kernel ``entry`` of ``source``; raise :class:`RewriteError` for what cannot be run."""
    bare = blank(source)
    kernels = kernels_of(source)
    if (launch := re.search(r"<<<", bare)) is not None:
        raise RewriteError(
            "the file launches a kernel with <<<...>>>: host code is not run here",
            _line(source, launch.start()),
            "keep the kernel and its device functions in the file; the launch numbers go to the command or to run()",
        )
    if (main := re.search(r"\bint\s+main\s*\(", bare)) is not None:
        raise RewriteError(
            "the file has a main(): host code is not run here",
            _line(source, main.start()),
            "keep the kernel and its device functions only",
        )
    if header := re.search(
        r"^[ \t]*#[ \t]*include[ \t]*<((?:cub|thrust|cute|cutlass)/[^>]*|mma\.h|cooperative_groups/scan\.h)>",
        source,
        re.M,
    ):
        raise RewriteError(
            f"not emulated: <{header.group(1)}>",
            _line(source, header.start()),
            "write the step with warp functions and shared memory, or run the kernel on a GPU",
            "not-emulated",
        )
    if entry.split("<")[0].split("::")[-1] not in kernels:
        names = ", ".join(kernels) if kernels else "none"
        raise RewriteError(
            f"there is no __global__ function called {entry}; the file has: {names}",
            0,
            "give the kernel's name as entry",
        )
    edits, structs = _name_structs(bare)
    macros: list[str] = []
    for number, m in enumerate(re.finditer(r"\b__shared__\b", bare)):
        if any(start <= m.start() < end for start, end, _ in edits if start != end):
            continue
        d = _shared_declaration(source, bare, m.start())
        newlines = "\n" * source.count("\n", d.start, d.end)
        if _in_function(bare, m.start()):
            edits.append((d.start, d.end, _in_function_text(d, number, structs) + newlines))
        else:
            edits.append((d.start, d.end + 1, newlines))
            macros += _file_scope_macros(d, number)
    edits += _asm_edits(source, bare)
    edits += _device_variables(bare)
    # A macro of this name would break libcu++'s headers, and a function the C library's.
    for m in re.finditer(r"(?<![\w.>:])clock\s*\(\s*\)", bare):
        edits.append((m.start(), m.end(), "int(::ws_emu::logical_time())"))
    text = source
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    name = entry.split("<")[0]
    cluster = re.search(
        r"__cluster_dims__\s*\(([^)]*)\)(?=[^;{}]*\b" + re.escape(name.split("::")[-1]) + r"\s*\()", bare
    )
    dims = None
    if cluster and all(p.strip().isdigit() for p in cluster.group(1).split(",")):
        parts = [int(p) for p in cluster.group(1).split(",")]
        dims = tuple((parts + [1, 1, 1])[:3])
    head = "".join(f"{line}\n" for line in macros) + f'#line 1 "{file}"\n'
    bind = f'extern "C" const ::ws_emu::Entry* ws_emu_entry() {{ return ::ws_emu::Bind<&{entry}>::entry(); }}'
    tail = f'\n#line 1 "{file}:entry"\n{bind}\n'
    return Rewritten(head + text + tail, kernels, dims)


def _device_variables(bare: str) -> list[tuple[int, int, str]]:
    """Announce each ``__device__`` variable after its declaration, so that accesses to it are checked."""
    edits = []
    for number, m in enumerate(re.finditer(r"\b__(?:device|managed)__\b", bare)):
        end = bare.find(";", m.end())
        start = max(bare.rfind(c, 0, m.start()) for c in ";{}") + 1
        head = re.sub(r"(?:alignas|__align__)\s*\([^()]*\)", " ", re.split(r"[={;]", bare[m.end() : end + 1])[0])
        whole = bare[start:end]
        if (
            end < 0
            or "(" in head
            or re.search(r"\b(constexpr|const|extern|template|__constant__|operator)\b", whole.split("=")[0])
        ):
            continue
        if _in_function(bare, m.start()) or re.search(r"\b__(?:device|managed)__\b", bare[start : m.start()]):
            continue
        declared = bare[m.end() : end]
        depth, plain = 0, ""
        for c in declared:  # without initialisers
            depth -= c in "})"
            plain += c if depth == 0 and c not in "{}()" else ""
            depth += c in "{("
        names = [
            re.match(r".*?([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*$", part.split("=")[0].strip(), re.S)
            for part in _split(plain)
        ]
        text = "".join(
            f" static const ::ws_emu::DeviceVariable ws_device_{number}_{i}(&{n.group(1)}, sizeof {n.group(1)}, "
            f'"{n.group(1)}", '
            f"::ws_emu::shape_of<decltype({n.group(1)})>());"
            for i, n in enumerate(names)
            if n
        )
        edits.append((end + 1, end + 1, text))
    return edits


def _asm_edits(source: str, bare: str) -> list[tuple[int, int, str]]:
    """Replace each ``asm`` statement by the C++ that does what its instructions do."""
    edits = []
    for number, m in enumerate(re.finditer(r"\b(?:asm|__asm__|__asm)\b\s*(?:volatile|__volatile__)?\s*\(", bare)):
        close = _close(bare, m.end() - 1)
        line = _line(source, m.start())
        sections = _sections(source[m.end() : close], bare[m.end() : close])
        template = "".join(
            _string(part) for part in re.findall(r'R"\w*\(.*?\)\w*"|"(?:\\.|[^"\\])*"', sections[0], re.S)
        )
        operands = [
            [_asm_operand(p, line) for p in _split(section, "([{", ")]}") if p.strip()] for section in sections[1:3]
        ]
        names = re.findall(r'(?:^|,|:)\s*\[\s*(\w+)\s*\]\s*"', ":".join(sections[1:3]))
        template = re.sub(r"%\[(\w+)\]", lambda n: f"%{names.index(n[1])}" if n[1] in names else n[0], template)  # noqa: B023
        outputs, inputs = (operands + [[], []])[:2]
        try:
            new = translate(Statement(template, outputs, inputs, number))
        except NotEmulated as error:
            raise RewriteError(
                f"not emulated: {error}",
                line,
                "inline PTX: docs/emulator.md lists the instructions that are understood",
                "not-emulated",
            ) from None
        edits.append((m.start(), close + 1, new + "\n" * source.count("\n", m.start(), close + 1)))
    return edits


def _sections(text: str, bare: str) -> list[str]:
    """Split an asm statement at the colons outside brackets; ``::`` is two of them."""
    parts, depth, start, i = [], 0, 0, 0
    while i < len(bare):
        c = bare[i]
        depth += (c in "([{") - (c in ")]}")
        if c == ":" and depth == 0:
            parts.append(text[start:i])
            start = i + 1
        i += 1
    return [*parts, text[start:]]


def _string(literal: str) -> str:
    if literal.startswith('R"'):
        return re.sub(r'^R"\w*\(|\)\w*"$', "", literal)
    return literal[1:-1].replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')


def _asm_operand(text: str, line: int) -> tuple[str, str]:
    m = re.match(r'\s*(?:\[\s*\w+\s*\])?\s*"([^"]*)"\s*\((.*)\)\s*$', text, re.S)
    if not m:
        raise RewriteError(
            f"not emulated: the asm operand {text.strip()}", line, 'write it as "r"(expression)', "not-emulated"
        )
    return m.group(1).lstrip("=+&"), " ".join(m.group(2).split())


def _name_structs(bare: str) -> tuple[list[tuple[int, int, str]], set[str]]:
    """Make the members of plain structs known by name, so that a fault in ``storage.full[1]`` can say ``full[1]``.

    Returns the edits (a function after each struct, and casts to it that call the function) and the structs' names.
    """
    edits: list[tuple[int, int, str]] = []
    structs: set[str] = set()
    for m in re.finditer(
        r"(template\s*<([^<>]*)>\s*)?\bstruct\s+(?:alignas\s*\([^()]*\)\s*|__align__\s*\([^()]*\)\s*)?([A-Za-z_]\w*)\s*\{",
        bare,
    ):
        end = _close(bare, m.end() - 1)
        body = bare[m.end() : end]
        if (
            "(" in re.sub(r"(alignas|__align__|sizeof)\s*\([^()]*\)|\[[^\]]*\]", "", body)
            or "{" in body
            or _in_function(bare, m.start())
        ):
            continue
        after = re.match(r"\s*;", bare[end + 1 :])
        members = []
        for statement in body.split(";"):
            text = re.sub(r"alignas\s*\([^()]*\)|__align__\s*\([^()]*\)", " ", statement)
            if not text.strip() or re.match(r"\s*(static|using|typedef|enum)\b", text):
                continue
            for part in _split(text.strip()):
                if name := re.search(r"([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*$", part.strip()):
                    members.append(name.group(1))
        if not after or not members:
            continue
        name = m.group(3)
        parameters = (
            ", ".join(re.split(r"[\s.]+", p.split("=")[0].strip())[-1] for p in m.group(2).split(","))
            if m.group(2)
            else ""
        )
        full = f"{name}<{parameters}>" if parameters else name
        names = " ".join(
            f'::ws_emu::name_member(&p->{n}, sizeof p->{n}, "{n}", ::ws_emu::shape_of<decltype({full}::{n})>());'
            for n in members
        )
        head = re.sub(r"\s+", " ", m.group(1)) if m.group(1) else ""
        at = end + 1 + after.end()
        edits.append((at, at, f" {head}WS_QUIET inline void ws_name_members(const {full}* p) {{ {names} }}"))
        structs.add(name)
    if structs:
        one = "|".join(sorted(structs))
        for m in re.finditer(
            rf"\b(?:reinterpret_cast|static_cast)\s*<(\s*(?:{one})\s*(?:<[^<>]*>)?\s*[*&]\s*)>\s*\(", bare
        ):
            edits.append((m.start(), m.end(), f"::ws_emu::storage_cast<{m.group(1).strip()}>("))
    return edits, structs


def _in_function_text(d: _Shared, number: int, structs: set[str]) -> str:
    out = []
    for i, (stars, name, dims) in enumerate(d.declarators):
        base = f"{d.base} {stars}".strip()
        if d.external:
            out.append(
                f"auto& {name} = *reinterpret_cast<{base} (*){dims or '[]'}>("
                f'::ws_emu::dynamic_shared("{name}", ::ws_emu::shape_of<{base}{dims or "[]"}>()))'
            )
            continue
        s = f"ws_shared_{number}_{i}"
        out.append(
            f"struct {s} {{ {d.alignment} {base} {name}{dims}; }}; "
            f"static const unsigned {s}_at = ::ws_emu::reserve_shared(sizeof({s}), alignof({s}), "
            f'"{name}", ::ws_emu::shape_of<decltype({s}::{name})>()); '
            f"auto& {name} = reinterpret_cast<{s}*>(::ws_emu::shared_slab + {s}_at)->{name}"
        )
        if structs.intersection(_IDENTIFIER.findall(base)) and not dims:
            out.append(f"::ws_emu::name_members(&{name})")
    return "; ".join(out)


def _file_scope_macros(d: _Shared, number: int) -> list[str]:
    out = []
    for stars, name, dims in d.declarators:
        base = f"{d.base} {stars}".strip()
        if d.external:
            out.append(
                f"#define {name} (*reinterpret_cast<{base} (*){dims or '[]'}>("
                f'::ws_emu::dynamic_shared("{name}", ::ws_emu::shape_of<{base}{dims or "[]"}>())))'
            )
        else:
            out.append(
                f'#define {name} (::ws_emu::file_scope_shared<{base}, {number}>("{name}", '
                f"static_cast<{base} (*){dims}>(nullptr)))"
                if dims
                else f'#define {name} (::ws_emu::file_scope_shared<{base}, {number}>("{name}", '
                f"static_cast<{base}*>(nullptr)))"
            )
    return out
