"""Translate inline PTX into C++ calls of the emulator: one C++ statement per instruction, labels and predicates kept.

Known are the instructions that pipelines on Hopper use and simple arithmetic around them; any other raises
:class:`NotEmulated` with its name. Sources: PTX ISA 8.x, section of the same name as each instruction.
"""

# An instruction's pattern and its C++ stay on one line each, however long.
# ruff: noqa: E501

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field


class NotEmulated(ValueError):
    """Name an instruction or operand that the emulator does not know."""


@dataclass
class Statement:
    """Hold one ``asm`` statement: its template and operands as C++ expressions."""

    template: str
    outputs: list[tuple[str, str]]  # constraint, expression
    inputs: list[tuple[str, str]]
    number: int
    labels: dict[str, str] = field(default_factory=dict)
    registers: set[str] = field(default_factory=set)


_TYPES = {
    "pred": "bool",
    **dict.fromkeys(("b8", "u8"), "unsigned char"),
    **dict.fromkeys(("b16", "u16"), "unsigned short"),
    **dict.fromkeys(("b32", "u32"), "unsigned"),
    **dict.fromkeys(("b64", "u64"), "unsigned long long"),
    "s8": "signed char",
    "s16": "short",
    "s32": "int",
    "s64": "long long",
    "f32": "float",
    "f64": "double",
    "b128": "ws_emu::Bytes16",
}
_SIZES = {"8": 1, "16": 2, "32": 4, "64": 8}

_SPECIAL = {
    "laneid": "ws_emu::thread_rank() % 32u",
    "warpid": "ws_emu::thread_rank() / 32u",
    "smid": "ws_emu::block_slot() % 132u",
    "nsmid": "132u",
    "clock": "unsigned(ws_emu::logical_time())",
    "clock64": "ws_emu::logical_time()",
    "globaltimer": "ws_emu::logical_time()",
    "cluster_ctarank": "ws_emu::cluster_rank()",
    "cluster_nctarank": "ws_emu::cluster_blocks()",
    "lanemask_lt": "((1u << (ws_emu::thread_rank() % 32u)) - 1u)",
    **{
        f"{a}.{d}": f"{b}.{d}"
        for a, b in (("tid", "threadIdx"), ("ctaid", "blockIdx"), ("ntid", "blockDim"), ("nctaid", "gridDim"))
        for d in "xyz"
    },
}


def translate(statement: Statement) -> str:
    """Return a C++ block without newlines; raises :class:`NotEmulated`."""
    s = statement
    out = []
    for i, (_, expression) in enumerate(s.outputs):
        out.append(f"auto& ws_a{i} = {expression};")
    for i, (constraint, expression) in enumerate(s.inputs, start=len(s.outputs)):
        letter = constraint.strip('"')
        if letter.isdigit():  # the same register as that output
            out.append(f"ws_emu::put(ws_a{letter}, {expression}); auto& ws_a{i} = ws_a{letter};")
        elif letter == "n":
            out.append(f"constexpr long long ws_a{i} = (long long)({expression});")
        elif letter == "l":
            out.append(f"const unsigned long long ws_a{i} = (unsigned long long)({expression});")
        else:
            out.append(f"const auto ws_a{i} = {expression};")
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", s.template, flags=re.S)
    # A label's colon ends it; braces only open a scope for registers, whose names are unique enough here.
    scope = 0
    body = []
    for raw in re.split(r"([;{}])", _protect_vectors(text)):
        piece = raw.strip()
        if piece == "{":
            body.append("{")
            scope += 1
        elif piece == "}":
            body.append("}")
            scope -= 1
        elif piece and piece != ";":
            while label := re.match(r"([A-Za-z_$%][\w$%]*)\s*:(?!:)\s*", piece):
                body.append(f"{_label(s, label.group(1))}:;")
                piece = piece[label.end() :]
            if piece:
                body.append(_instruction(s, piece.replace("\x01", "{").replace("\x02", "}")))
    if scope:
        raise NotEmulated("unbalanced braces in the asm statement")
    # Registers are declared first: a goto may not jump over an initialisation.
    declarations = [b for b in body if b.startswith("/*reg*/")]
    rest = [b for b in body if not b.startswith("/*reg*/")]
    return "do { " + " ".join([*out, *declarations, *rest]) + " } while (0)"


def _protect_vectors(text: str) -> str:
    """Mark the braces of vector operands, so that they are not taken for scopes."""
    out, depth = [], 0
    for i, c in enumerate(text):
        if c == "{" and (
            depth or re.search(r"[,\[(]\s*$|[\w.]\s+$", text[:i]) and not re.search(r"(^|[;}:])\s*$", text[:i])
        ):
            depth += 1
            out.append("\x01")
        elif c == "}" and depth:
            depth -= 1
            out.append("\x02")
        else:
            out.append(c)
    return "".join(out)


def _label(s: Statement, name: str) -> str:
    clean = re.sub(r"\W", "_", name)
    return f"ws_label_{s.number}_{clean}"


def _instruction(s: Statement, text: str) -> str:
    if m := re.match(r"\.reg\s*\.(\w+)\s+(.*)$", text, re.S):
        names = []
        for n in m.group(2).replace("%", "").split(","):
            if span := re.match(r"\s*([\w$]+)<(\d+)>", n):
                names += [f"{span.group(1)}{k}" for k in range(int(span.group(2)))]
            else:
                names.append(n.strip())
        s.registers.update(names)
        if m.group(1) not in _TYPES:
            raise NotEmulated(f".reg .{m.group(1)}")
        return "/*reg*/ " + " ".join(f"{_TYPES[m.group(1)]} {_register(n)}{{}};" for n in names)
    guard = ""
    if m := re.match(r"@(!?)([\w$%]+)\s+(.*)$", text, re.S):
        guard = f"if ({m.group(1)}{_operand(s, m.group(2))}) "
        text = m.group(3)
    m = re.match(r"([a-zA-Z_][\w.:]*)\s*(.*)$", text, re.S)
    if not m:
        raise NotEmulated(text.strip())
    name, operands = m.group(1), _split(m.group(2))
    for pattern, emit in _TABLE:
        if re.fullmatch(pattern, name):
            try:
                return f"{guard}{{ {emit(s, name, operands)} }}"
            except (LookupError, ValueError) as error:  # an operand that is not there, a type without arithmetic here
                raise error if isinstance(error, NotEmulated) else NotEmulated(f"{name} with these operands") from None
    raise NotEmulated(name)


def _split(text: str) -> list[str]:
    parts, depth, current = [], 0, ""
    for c in text.strip():
        depth += (c in "[{(") - (c in "]})")
        if c == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += c
    return [*parts, current.strip()] if current.strip() else parts


def _register(name: str) -> str:
    return "ws_r_" + re.sub(r"\W", "_", name.lstrip("%"))


def _operand(s: Statement, text: str) -> str:
    text = text.strip()
    if m := re.fullmatch(r"%(\d+)", text):
        if int(m.group(1)) >= len(s.outputs) + len(s.inputs):
            raise NotEmulated(f"operand {text} has no expression")
        return f"ws_a{m.group(1)}"
    if m := re.fullmatch(r"%%?([a-z_]\w*(?:\.[xyz])?)", text):
        if m.group(1) in _SPECIAL:
            return f"({_SPECIAL[m.group(1)]})"
        if m.group(1) in s.registers:
            return _register(m.group(1))
        raise NotEmulated(f"special register {text}")
    if text in s.registers or text.lstrip("%") in s.registers:
        return _register(text)
    if m := re.fullmatch(r"0[fF]([0-9a-fA-F]{8})", text):
        return f"ws_emu::bits<float>(0x{m.group(1)}u)"
    if re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)[uU]?", text):
        return f"({text.rstrip('uU')})"
    if text == "_":
        return "ws_emu::sink"
    raise NotEmulated(f"operand {text}")


def _integer(s: Statement, text: str, cast: str = "unsigned") -> str:
    return f"({cast})({_operand(s, text)})"


def _address(s: Statement, text: str, shared: bool) -> str:
    m = re.fullmatch(r"\[\s*([^\]+]+?)\s*(?:\+\s*([^\]]+?))?\s*\]", text, re.S)
    if not m:
        raise NotEmulated(f"address {text}")
    offset = f" + ({_operand(s, m.group(2))})" if m.group(2) else ""
    if shared:
        return f"ws_emu::from_window((unsigned)({_operand(s, m.group(1))}{offset}))"
    return f"(void*)((unsigned long long)({_operand(s, m.group(1))}){offset})"


def _vector(text: str) -> list[str]:
    text = text.strip()
    return _split(text[1:-1]) if text.startswith("{") else [text]


def _assign(s: Statement, target: str, value: str) -> str:
    if target.strip() == "_":
        return f"(void)({value});"
    return f"ws_emu::put({_operand(s, target)}, {value});"


W = "ws_emu::Where::here()"
_Emit = Callable[[Statement, str, list[str]], str]
_TABLE: list[tuple[str, _Emit]] = []


def _known(pattern: str) -> Callable[[_Emit], _Emit]:
    def add(emit: _Emit) -> _Emit:
        _TABLE.append((pattern, emit))
        return emit

    return add


def _shared(name: str) -> bool:
    return ".shared" in name


# ---- barriers -----------------------------------------------------------------------------------------------------


@_known(r"(bar|barrier)(\.cta)?\.(sync|arrive)(\.aligned)?")
def _bar(s: Statement, name: str, o: list[str]) -> str:
    wait = "false" if ".arrive" in name else "true"
    count = _integer(s, o[1]) if len(o) > 1 else "0"
    return f"ws_emu::block_barrier({_integer(s, o[0], 'int')}, {count}, {wait}, ws_emu::Reduce::none, 0, {W});"


@_known(r"bar\.warp\.sync")
def _bar_warp(s: Statement, name: str, o: list[str]) -> str:
    return f'ws_emu::warp_sync({_integer(s, o[0])}, "bar.warp.sync", true, {W});'


@_known(r"barrier\.cluster\.arrive(\.release|\.relaxed)?(\.aligned)?")
def _cluster_arrive(s: Statement, name: str, o: list[str]) -> str:
    return f"ws_emu::cluster_arrive({'false' if '.relaxed' in name else 'true'}, {W});"


@_known(r"barrier\.cluster\.wait(\.acquire)?(\.aligned)?")
def _cluster_wait(s: Statement, name: str, o: list[str]) -> str:
    return f"ws_emu::cluster_wait({W});"


@_known(r"mbarrier\.init(\.shared(::cta)?)?\.b64")
def _mbarrier_init(s: Statement, name: str, o: list[str]) -> str:
    return f'ws_emu::mbar_init({_address(s, o[0], _shared(name))}, {_integer(s, o[1])}, "mbarrier.init", {W});'


@_known(r"mbarrier\.inval(\.shared(::cta)?)?\.b64")
def _mbarrier_inval(s: Statement, name: str, o: list[str]) -> str:
    return f"ws_emu::mbar_inval({_address(s, o[0], _shared(name))}, {W});"


@_known(
    r"mbarrier\.arrive(\.noComplete)?(\.expect_tx)?(\.(release|relaxed)(\.(cta|cluster))?)?(\.shared(::(cta|cluster))?)?\.b64"
)
def _mbarrier_arrive(s: Statement, name: str, o: list[str]) -> str:
    state, rest = ("_", o) if o[0].startswith("[") else (o[0], o[1:])
    bar = _address(s, rest[0], _shared(name))
    release = "false" if ".relaxed" in name else "true"
    if ".expect_tx" in name:
        arrive = f'ws_emu::mbar_arrive(ws_bar, 1, "mbarrier.arrive.expect_tx", {W}, false, {release})'
        return f"void* ws_bar = {bar}; ws_emu::mbar_expect_tx(ws_bar, {_integer(s, rest[1])}, {W}); {_assign(s, state, arrive)}"
    count = _integer(s, rest[1]) if len(rest) > 1 else "1"
    return _assign(s, state, f'ws_emu::mbar_arrive({bar}, {count}, "mbarrier.arrive", {W}, false, {release})')


@_known(r"mbarrier\.arrive_drop(\.release\.cta)?(\.shared(::cta)?)?\.b64")
def _mbarrier_drop(s: Statement, name: str, o: list[str]) -> str:
    state, rest = ("_", o) if o[0].startswith("[") else (o[0], o[1:])
    count = _integer(s, rest[1]) if len(rest) > 1 else "1"
    return _assign(
        s,
        state,
        f'ws_emu::mbar_arrive({_address(s, rest[0], _shared(name))}, {count}, "mbarrier.arrive_drop", {W}, true)',
    )


@_known(r"mbarrier\.(expect_tx|complete_tx)(\.relaxed(\.(cta|cluster))?)?(\.shared(::(cta|cluster))?)?\.b64")
def _mbarrier_tx(s: Statement, name: str, o: list[str]) -> str:
    call = "mbar_expect_tx" if "expect_tx" in name else "mbar_complete_tx"
    return f"ws_emu::{call}({_address(s, o[0], _shared(name))}, {_integer(s, o[1])}, {W});"


@_known(r"mbarrier\.(try_wait|test_wait)(\.parity)?(\.(acquire|relaxed)(\.(cta|cluster))?)?(\.shared(::cta)?)?\.b64")
def _mbarrier_wait(s: Statement, name: str, o: list[str]) -> str:
    bar, phase = _address(s, o[1], _shared(name)), _operand(s, o[2])
    what = f'"mbarrier.{name.split(".")[1]}"'
    parity = ".parity" in name
    value = f"(unsigned)({phase})" if parity else f"(unsigned long long)({phase})"
    suffix = "_parity" if parity else ""
    if ".try_wait" in name:  # suspends the thread: here until the phase completes
        return f"ws_emu::mbar_wait{suffix}({bar}, {value}, {what}, {W}); {_assign(s, o[0], 'true')}"
    return _assign(s, o[0], f"ws_emu::mbar_test{suffix}({bar}, {value}, {what}, {W})")


# ---- asynchronous copies -------------------------------------------------------------------------------------------


@_known(r"cp\.async\.c[ag]\.shared(::cta)?\.global(\.L2::(cache_hint|\d+B))*")
def _cp_async(s: Statement, name: str, o: list[str]) -> str:
    dst, src, size = _address(s, o[0], True), _address(s, o[1], False), _integer(s, o[2])
    source_size = _integer(s, o[3]) if len(o) > 3 and "cache_hint" not in name else size
    return f'unsigned ws_n = {size}, ws_m = {source_size}; ws_emu::cp_async({dst}, {src}, ws_n, ws_n - (ws_m < ws_n ? ws_m : ws_n), "cp.async", {W});'


@_known(r"cp\.async\.commit_group")
def _cp_async_commit(s: Statement, name: str, o: list[str]) -> str:
    return "ws_emu::cp_async_commit();"


@_known(r"cp\.async\.wait_(group|all)")
def _cp_async_wait(s: Statement, name: str, o: list[str]) -> str:
    return f"ws_emu::cp_async_wait({_integer(s, o[0], 'int') if o else '-1'}, {W});"


@_known(r"cp\.async\.mbarrier\.arrive(\.noinc)?(\.shared(::cta)?)?\.b64")
def _cp_async_arrive(s: Statement, name: str, o: list[str]) -> str:
    return (
        f"ws_emu::cp_async_arrive({_address(s, o[0], _shared(name))}, {'true' if '.noinc' in name else 'false'}, {W});"
    )


@_known(
    r"cp\.async\.bulk\.shared::(cluster|cta)\.global\.mbarrier::complete_tx::bytes(\.multicast::cluster)?(\.L2::cache_hint)?"
)
def _bulk_load(s: Statement, name: str, o: list[str]) -> str:
    blocks = _integer(s, o[4]) if ".multicast" in name else "0"
    return f"ws_emu::bulk_load({_address(s, o[0], True)}, {_address(s, o[1], False)}, {_integer(s, o[2])}, {_address(s, o[3], True)}, {blocks}, {W});"


@_known(r"cp\.async\.bulk\.shared::cluster\.shared::cta\.mbarrier::complete_tx::bytes")
def _bulk_remote(s: Statement, name: str, o: list[str]) -> str:
    return f"ws_emu::bulk_load({_address(s, o[0], True)}, {_address(s, o[1], True)}, {_integer(s, o[2])}, {_address(s, o[3], True)}, 0, {W});"


@_known(r"cp\.async\.bulk\.global\.shared::cta\.bulk_group(\.L2::cache_hint)?")
def _bulk_store(s: Statement, name: str, o: list[str]) -> str:
    return f"ws_emu::bulk_store({_address(s, o[0], False)}, {_address(s, o[1], True)}, {_integer(s, o[2])}, {W});"


@_known(r"cp\.async\.bulk\.commit_group")
def _bulk_commit(s: Statement, name: str, o: list[str]) -> str:
    return f"ws_emu::bulk_commit({W});"


@_known(r"cp\.async\.bulk\.wait_group(\.read)?")
def _bulk_wait(s: Statement, name: str, o: list[str]) -> str:
    return f"ws_emu::bulk_wait({_integer(s, o[0], 'int')}, {'true' if '.read' in name else 'false'}, {W});"


def _tensor(s: Statement, operand: str, rank: int) -> str:
    inner = _split(operand.strip()[1:-1])
    coordinates = ", ".join(_integer(s, c, "int") for c in _vector(inner[1]))
    return f"const int ws_at[{rank}] = {{{coordinates}}}; const void* ws_map = (const void*)({_operand(s, inner[0])});"


@_known(
    r"cp\.async\.bulk\.tensor\.[1-5]d\.shared::(cluster|cta)\.global(\.tile)?\.mbarrier::complete_tx::bytes(\.multicast::cluster)?(\.L2::cache_hint)?"
)
def _tensor_load(s: Statement, name: str, o: list[str]) -> str:
    rank = int(name.split(".")[4][0])
    blocks = _integer(s, o[3]) if ".multicast" in name else "0"
    return f"{_tensor(s, o[1], rank)} ws_emu::tensor_load({_address(s, o[0], True)}, ws_map, ws_at, {rank}, {_address(s, o[2], True)}, {blocks}, {W});"


@_known(r"cp\.async\.bulk\.tensor\.[1-5]d\.global\.shared::cta(\.tile)?\.bulk_group(\.L2::cache_hint)?")
def _tensor_store(s: Statement, name: str, o: list[str]) -> str:
    rank = int(name.split(".")[4][0])
    return f"{_tensor(s, o[0], rank)} ws_emu::tensor_store(ws_map, ws_at, {rank}, {_address(s, o[1], True)}, {W});"


@_known(
    r"st\.async(\.weak)?(\.shared::cluster)?\.mbarrier::complete_tx::bytes(\.shared::cluster)?(\.v[24])?\.(b|u|s|f)(32|64)"
)
def _st_async(s: Statement, name: str, o: list[str]) -> str:
    values = [_operand(s, v) for v in _vector(o[1])]
    kind = _TYPES[name.rsplit(".", 1)[1]]
    return (
        f"const {kind} ws_v[{len(values)}] = {{{', '.join(f'({kind})({v})' for v in values)}}}; "
        f"ws_emu::store_async({_address(s, o[0], True)}, ws_v, sizeof ws_v, {_address(s, o[2], True)}, {W});"
    )


# ---- order ---------------------------------------------------------------------------------------------------------


@_known(r"fence\.proxy\.async(\.(global|shared::(cta|cluster)))?|fence\.proxy\.async::generic\..*")
def _fence_proxy(s: Statement, name: str, o: list[str]) -> str:
    return f"ws_emu::fence_proxy_async({W});"


@_known(r"fence\.mbarrier_init\.release\.cluster")
def _fence_mbarrier_init(s: Statement, name: str, o: list[str]) -> str:
    return f"ws_emu::fence_proxy_async({W}), ws_emu::thread_fence({W});"


@_known(r"fence(\.(sc|acq_rel|acquire|release))?\.(cta|cluster|gpu|sys)|membar\.(cta|gl|sys)")
def _fence(s: Statement, name: str, o: list[str]) -> str:
    return f"ws_emu::thread_fence({W});"


@_known(r"griddepcontrol\.wait")
def _grid_wait(s: Statement, name: str, o: list[str]) -> str:
    return "ws_emu::grid_dependency_wait();"


@_known(
    r"griddepcontrol\.launch_dependents|prefetch.*|createpolicy.*|discard.*|applypriority.*|pragma.*|fence\.proxy\.tensormap.*|cp\.async\.bulk\.prefetch.*"
)
def _no_effect(s: Statement, name: str, o: list[str]) -> str:
    return "/* no effect on results */"


# ---- warps, registers ----------------------------------------------------------------------------------------------


@_known(r"setmaxnreg\.(inc|dec)\.sync\.aligned\.u32")
def _setmaxnreg(s: Statement, name: str, o: list[str]) -> str:
    return f"ws_emu::set_max_registers({_integer(s, o[0], 'int')}, {'true' if '.inc' in name else 'false'}, {W});"


@_known(r"elect\.sync")
def _elect(s: Statement, name: str, o: list[str]) -> str:
    lane, predicate = (p.strip() for p in o[0].split("|"))
    leader = "" if lane == "_" else _assign(s, lane, "(unsigned)__builtin_ctz(ws_mask)")
    return f"unsigned ws_mask = {_integer(s, o[1])}; {_assign(s, predicate, f'ws_emu::elect(ws_mask, {W})')} {leader}"


@_known(r"mapa(\.shared::cluster)?\.u(32|64)")
def _mapa(s: Statement, name: str, o: list[str]) -> str:
    if _shared(name):
        here = f"ws_emu::from_window({_integer(s, o[1])})"
        return _assign(s, o[0], f"ws_emu::shared_window(ws_emu::cluster_map({here}, {_integer(s, o[2])}, {W}))")
    return _assign(
        s, o[0], f"(unsigned long long)ws_emu::cluster_map((void*)({_operand(s, o[1])}), {_integer(s, o[2])}, {W})"
    )


@_known(r"getctarank(\.shared::cluster)?\.u(32|64)")
def _getctarank(s: Statement, name: str, o: list[str]) -> str:
    at = f"ws_emu::from_window({_integer(s, o[1])})" if _shared(name) else f"(void*)({_operand(s, o[1])})"
    return _assign(s, o[0], f"ws_emu::cluster_owner({at})")


@_known(r"nanosleep\.u32")
def _nanosleep(s: Statement, name: str, o: list[str]) -> str:
    return "ws_emu::yield();"


@_known(r"(trap|brkpt)")
def _trap(s: Statement, name: str, o: list[str]) -> str:
    return f'ws_emu::fail("launch-error", "the kernel executed trap", "", {W});'


@_known(r"exit|ret")
def _exit(s: Statement, name: str, o: list[str]) -> str:
    return "ws_emu::thread_exit();"


@_known(r"bra(\.uni)?")
def _bra(s: Statement, name: str, o: list[str]) -> str:
    return f"goto {_label(s, o[0])};"


@_known(r"ldmatrix\.sync\.aligned\.m8n8\.x[124](\.trans)?(\.shared(::cta)?)?\.b16")
def _ldmatrix(s: Statement, name: str, o: list[str]) -> str:
    targets = _vector(o[0])
    assigns = " ".join(_assign(s, t, f"ws_v[{i}]") for i, t in enumerate(targets))
    trans = "true" if ".trans" in name else "false"
    return f"unsigned ws_v[4]; ws_emu::load_matrix(ws_v, {len(targets)}, {_address(s, o[1], _shared(name))}, {trans}, {W}); {assigns}"


@_known(r"stmatrix\.sync\.aligned\.m8n8\.x[124](\.trans)?(\.shared(::cta)?)?\.b16")
def _stmatrix(s: Statement, name: str, o: list[str]) -> str:
    values = [_integer(s, v) for v in _vector(o[1])]
    trans = "true" if ".trans" in name else "false"
    return f"const unsigned ws_v[{len(values)}] = {{{', '.join(values)}}}; ws_emu::store_matrix({_address(s, o[0], _shared(name))}, ws_v, {len(values)}, {trans}, {W});"


# ---- wgmma -----------------------------------------------------------------------------------------------------------


@_known(r"wgmma\.fence\.sync\.aligned")
def _wgmma_fence(s: Statement, name: str, o: list[str]) -> str:
    return "/* registers are read when the instruction is issued */"


@_known(r"wgmma\.commit_group\.sync\.aligned")
def _wgmma_commit(s: Statement, name: str, o: list[str]) -> str:
    return f"ws_emu::wgmma_commit({W});"


@_known(r"wgmma\.wait_group\.sync\.aligned")
def _wgmma_wait(s: Statement, name: str, o: list[str]) -> str:
    return f"ws_emu::wgmma_wait({_integer(s, o[0], 'int')}, {W});"


@_known(r"wgmma\.mma_async\.sync\.aligned\.m64n\d+k(16\.f32\.(bf16\.bf16|f16\.f16)|8\.f32\.tf32\.tf32)")
def _wgmma(s: Statement, name: str, o: list[str]) -> str:
    n, k = (int(x) for x in re.search(r"m64n(\d+)k(\d+)", name).groups())
    kind = name.rsplit(".", 1)[1]
    accumulators = [_operand(s, r) for r in _vector(o[0])]
    if len(accumulators) != n // 2:
        raise NotEmulated(f"{name} with {len(accumulators)} accumulators: it has {n // 2} in each thread")
    in_registers = o[1].startswith("{")
    rest = o[2:]
    b, scale_d = rest[0], rest[1]
    flags = [_integer(s, x, "int") for x in rest[2:]] + ["1", "1", "0", "0"][len(rest) - 2 :]
    transpose_a, transpose_b = ("0", flags[2]) if in_registers else (flags[2], flags[3])
    shape = f"{{{n}, {k}, ws_emu::WgmmaType::{kind}, bool({_operand(s, scale_d)}), {flags[0]}, {flags[1]}, bool({transpose_a}), bool({transpose_b})}}"
    registers = (
        f"const unsigned ws_f[4] = {{{', '.join(f'ws_emu::as<unsigned>({_operand(s, r)})' for r in _vector(o[1]))}}}; "
        if in_registers
        else ""
    )
    a = "0" if in_registers else _integer(s, o[1], "unsigned long long")
    pointers = ", ".join(f"&{r}" for r in accumulators)
    return (
        f"float* ws_d[] = {{{pointers}}}; {registers}ws_emu::wgmma(ws_d, {'ws_f' if in_registers else 'nullptr'}, {a}, "
        f"{_integer(s, b, 'unsigned long long')}, {shape}, {W});"
    )


# ---- loads, stores, arithmetic ------------------------------------------------------------------------------------------

_KIND = r"(b|u|s|f)(8|16|32|64)"


@_known(
    rf"ld(\.(volatile|relaxed|acquire)(\.(cta|cluster|gpu|sys))?)?(\.(global|shared(::(cta|cluster))?|param|const))?[\w.:]*\.{_KIND}"
)
def _ld(s: Statement, name: str, o: list[str]) -> str:
    kind = _TYPES[name.rsplit(".", 1)[1]]
    targets = _vector(o[0])
    at = _address(s, o[1], _shared(name))
    if re.match(r"ld\.(volatile|relaxed|acquire)", name) and len(targets) == 1:
        order = "acquire" if ".acquire" in name else "relaxed"
        return _assign(s, targets[0], f"ws_emu::atomic_load(({kind}*){at}, ws_emu::Order::{order}, {W})")
    assigns = " ".join(_assign(s, t, f"ws_v[{i}]") for i, t in enumerate(targets))
    return f"{kind} ws_v[{len(targets)}]; ws_emu::load_memory(ws_v, {at}, sizeof ws_v, {W}); {assigns}"


@_known(
    rf"st(\.(volatile|relaxed|release)(\.(cta|cluster|gpu|sys))?)?(\.(global|shared(::(cta|cluster))?))?[\w.:]*\.{_KIND}"
)
def _st(s: Statement, name: str, o: list[str]) -> str:
    kind = _TYPES[name.rsplit(".", 1)[1]]
    values = [f"({kind})({_operand(s, v)})" for v in _vector(o[1])]
    at = _address(s, o[0], _shared(name))
    if re.match(r"st\.(volatile|relaxed|release)", name) and len(values) == 1:
        order = "release" if ".release" in name else "relaxed"
        return f"ws_emu::atomic_store(({kind}*){at}, {values[0]}, ws_emu::Order::{order}, {W});"
    return f"const {kind} ws_v[{len(values)}] = {{{', '.join(values)}}}; ws_emu::store_memory({at}, ws_v, sizeof ws_v, {W});"


@_known(
    rf"(atom|red)(\.(relaxed|acquire|release|acq_rel))?(\.(cta|cluster|gpu|sys))?(\.(global|shared(::(cta|cluster))?))?\.(add|min|max|and|or|xor|exch|cas)\.{_KIND}"
)
def _atom(s: Statement, name: str, o: list[str]) -> str:
    kind, operation = _TYPES[name.rsplit(".", 1)[1]], name.split(".")[-2]
    if name.startswith("red"):
        o = ["_", *o]
    order = next((w for w in ("acq_rel", "acquire", "release") if f".{w}" in name), "relaxed")
    values = [f"({kind})({_operand(s, v)})" for v in o[2:]]
    expression = {
        "add": "a + v",
        "min": "v < a ? v : a",
        "max": "v > a ? v : a",
        "and": "ws_emu::bit_and(a, v)",
        "or": "ws_emu::bit_or(a, v)",
        "xor": "ws_emu::bit_xor(a, v)",
        "exch": "v",
        "cas": f"a == v ? {values[1] if len(values) > 1 else 'a'} : a",
    }[operation]
    call = f"ws_emu::atomic_update(({kind}*){_address(s, o[1], _shared(name))}, [=]({kind} a) {{ const {kind} v = {values[0]}; (void)v; return ({kind})({expression}); }}, ws_emu::Order::{order}, {W})"
    return _assign(s, o[0], call)


@_known(rf"mov\.({_KIND}|pred)")
def _mov(s: Statement, name: str, o: list[str]) -> str:
    kind = _TYPES[name.rsplit(".", 1)[1]]
    if o[0].startswith("{"):
        parts = _vector(o[0])
        part = {2: {"32": "unsigned short", "64": "unsigned"}}[len(parts)][name[-2:]]
        return (
            f"{part} ws_v[2]; const {kind} ws_s = ws_emu::as<{kind}>({_operand(s, o[1])}); __builtin_memcpy(ws_v, &ws_s, sizeof ws_v); "
            + " ".join(_assign(s, p, f"ws_v[{i}]") for i, p in enumerate(parts))
        )
    if o[1].startswith("{"):
        parts = [_operand(s, p) for p in _vector(o[1])]
        part = {"32": "unsigned short", "64": "unsigned"}[name[-2:]]
        return f"const {part} ws_v[2] = {{ws_emu::as<{part}>({parts[0]}), ws_emu::as<{part}>({parts[1]})}}; {kind} ws_s; __builtin_memcpy(&ws_s, ws_v, sizeof ws_s); {_assign(s, o[0], 'ws_s')}"
    return _assign(s, o[0], f"ws_emu::as<{kind}>({_operand(s, o[1])})")


@_known(r"cvta(\.to)?(\.(shared|global)(::(cta|cluster))?)?\.u(32|64)")
def _cvta(s: Statement, name: str, o: list[str]) -> str:
    if not _shared(name):
        return _assign(s, o[0], _operand(s, o[1]))
    if ".to" in name:
        return _assign(s, o[0], f"ws_emu::shared_window((void*)({_operand(s, o[1])}))")
    return _assign(s, o[0], f"(unsigned long long)ws_emu::from_window({_integer(s, o[1])})")


_ROUNDED = {"rni": "std::nearbyint", "rzi": "std::trunc", "rmi": "std::floor", "rpi": "std::ceil"}


@_known(rf"cvt(\.(rn|rni|rzi|rmi|rpi|ftz|sat))*\.{_KIND}\.{_KIND}")
def _cvt(s: Statement, name: str, o: list[str]) -> str:
    *modifiers, to_name, source_name = name.split(".")[1:]
    to, source = _TYPES[to_name], _TYPES[source_name]
    value = f"ws_emu::as<{source}>({_operand(s, o[1])})"
    for modifier in modifiers:
        value = f"{_ROUNDED[modifier]}({value})" if modifier in _ROUNDED else value
    # Floats are clamped to the integer's range, and everything is with .sat (PTX ISA, "cvt").
    if "sat" in modifiers or (source_name.startswith("f") and not to_name.startswith("f")):
        return _assign(s, o[0], f"ws_emu::clamped<{to}>({value})")
    return _assign(s, o[0], f"({to}){value}")


_BINARY = {
    "add": "a + b",
    "sub": "a - b",
    "mul": "a * b",
    "mul.lo": "a * b",
    "and": "a & b",
    "or": "a | b",
    "xor": "a ^ b",
    "shl": "ws_n < 8 * sizeof a ? a << ws_n : 0",
    "shr": "a >> (ws_n < 8 * sizeof a ? ws_n : 8 * sizeof a - 1) >> (ws_n >= 8 * sizeof a)",
    "min": "b < a ? b : a",
    "max": "a < b ? b : a",
    "div": "a / b",
    "rem": "a % b",
}


@_known(rf"(add|sub|mul(\.lo)?|and|or|xor|shl|shr|min|max|div|rem)(\.(rn|rz|ftz|full|approx|wide))*\.({_KIND}|pred)")
def _binary(s: Statement, name: str, o: list[str]) -> str:
    parts = name.split(".")
    kind = _TYPES[parts[-1]]
    operation = "mul.lo" if parts[:2] == ["mul", "lo"] else parts[0]
    if "wide" in parts:
        kind = _TYPES[f"{parts[-1][0]}{2 * int(parts[-1][1:])}"]
    if operation in ("and", "or", "xor") and kind == "float":
        raise NotEmulated(name)
    if operation in ("shl", "shr"):  # by more than the width: everything is shifted out (PTX ISA, "shl", "shr")
        b = f"const unsigned ws_n = (unsigned)({_operand(s, o[2])});"
    else:
        b = f"const {kind} b = ws_emu::as<{kind}>({_operand(s, o[2])});"
    return f"const {kind} a = ws_emu::as<{kind}>({_operand(s, o[1])}); {b} {_assign(s, o[0], f'({kind})({_BINARY[operation]})')}"


@_known(rf"(mad(\.lo)?|fma)(\.(rn|rz|ftz))*\.{_KIND}")
def _mad(s: Statement, name: str, o: list[str]) -> str:
    kind = _TYPES[name.rsplit(".", 1)[1]]
    a, b, c = (f"ws_emu::as<{kind}>({_operand(s, x)})" for x in o[1:4])
    return _assign(s, o[0], f"({kind})({a} * {b} + {c})" if not name.startswith("fma") else f"std::fma({a}, {b}, {c})")


@_known(rf"(neg|abs|not|ex2|lg2|rcp|rsqrt|sqrt|sin|cos|tanh)(\.(approx|rn|ftz))*\.({_KIND}|pred)")
def _unary(s: Statement, name: str, o: list[str]) -> str:
    kind = _TYPES[name.rsplit(".", 1)[1]]
    a = f"ws_emu::as<{kind}>({_operand(s, o[1])})"
    if name.endswith("f16"):
        raise NotEmulated(name)
    value = {
        "neg": f"-{a}",
        "abs": f"std::abs({a})",
        "not": f"!{a}" if kind == "bool" else f"~{a}",
        "ex2": f"std::exp2({a})",
        "lg2": f"std::log2({a})",
        "rcp": f"1 / {a}",
        "rsqrt": f"1 / std::sqrt({a})",
        "sqrt": f"std::sqrt({a})",
        "sin": f"std::sin({a})",
        "cos": f"std::cos({a})",
        "tanh": f"std::tanh({a})",
    }[name.split(".")[0]]
    return _assign(s, o[0], f"({kind})({value})")


@_known(rf"setp\.(eq|ne|lt|le|gt|ge|lo|ls|hi|hs)\.{_KIND}")
def _setp(s: Statement, name: str, o: list[str]) -> str:
    kind = _TYPES[name.rsplit(".", 1)[1]]
    sign = {
        "eq": "==",
        "ne": "!=",
        "lt": "<",
        "lo": "<",
        "le": "<=",
        "ls": "<=",
        "gt": ">",
        "hi": ">",
        "ge": ">=",
        "hs": ">=",
    }[name.split(".")[1]]
    value = f"ws_emu::as<{kind}>({_operand(s, o[1])}) {sign} ws_emu::as<{kind}>({_operand(s, o[2])})"
    yes, *no = o[0].split("|")
    return f"const bool ws_p = {value}; {_assign(s, yes, 'ws_p')} " + "".join(_assign(s, n, "!ws_p") for n in no)


@_known(rf"selp\.{_KIND}")
def _selp(s: Statement, name: str, o: list[str]) -> str:
    kind = _TYPES[name.rsplit(".", 1)[1]]
    return _assign(
        s,
        o[0],
        f"{_operand(s, o[3])} ? ws_emu::as<{kind}>({_operand(s, o[1])}) : ws_emu::as<{kind}>({_operand(s, o[2])})",
    )
