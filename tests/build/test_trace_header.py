"""Marking spans costs nothing in a kernel that is built without tracing: the machine code is the same."""

import io
import re
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from ws_course import emulator
from ws_course.build import nvrtc
from ws_course.faults import FaultKind
from ws_course.kernels import catalog
from ws_course.runtime import Kernel, Launch, Window, spans

HEADERS = [folder / "ws" / "trace.cuh" for folder in (catalog.INCLUDE, Path(emulator.__file__).parent / "include")]
SPAN = re.compile(r"^\s*ws::Span .*;$", re.MULTILINE)


def code(spec, source, **defines):
    """Return the machine code of a kernel for an H200: the bytes of every section of instructions."""
    defines = {**spec.defines(), **defines}
    cubin = nvrtc.compile_cubin(source, spec.name, file=spec.path.name, defines=defines, arch="sm_90a")
    sections = ELFFile(io.BytesIO(cubin.image)).iter_sections()
    found = {s.name: s.data() for s in sections if s.name.startswith(".text.")}
    assert found and all(found.values())
    return found


@pytest.mark.parametrize("name", ["tile_04_pipeline_roles", "tile_05_mbarrier_ring", "tile_06_bulk_copy"])
def test_spans_cost_nothing_when_tracing_is_off(name):
    spec = catalog.get(name)
    without, removed = SPAN.subn("", spec.source)
    assert removed == len(re.findall(r"ws::Span\b", spec.source)) >= 3
    plain = code(spec, spec.source)
    assert plain == code(spec, without)
    traced = code(spec, spec.source, **{spans.DEFINE: 1})
    assert len(traced[f".text.{name}"]) > len(plain[f".text.{name}"]), "this comparison does see a span"


def test_both_headers_offer_the_same_names():
    texts = [path.read_text() for path in HEADERS]
    for text in texts:
        assert "enum class Work { load, compute, store };" in text
        assert re.findall(r"\bSpan\(Work[ ,]", text)
    used = {
        name
        for spec in (*catalog.LADDER, *catalog.HOPPER)
        for name in re.findall(r"ws::[Tt]race\w*|ws::(?:Span|Work)\b", spec.source)
    }
    assert used == {"ws::Span", "ws::Work"}


def test_kernels_leave_the_switch_to_the_header():
    for path in catalog.FOLDER.rglob("*.cu"):
        assert spans.DEFINE not in path.read_text()


def test_the_header_and_the_decoder_agree_on_the_layouts():
    text = HEADERS[0].read_text()
    sizes = {"unsigned long long": 8, "unsigned": 4, "int": 4}
    for name, dtype in (("Control", spans.CONTROL), ("Head", spans.HEAD), ("Event", spans.EVENT)):
        body = re.sub(r"//.*", "", re.search(rf"struct {name} {{(.*?)}};", text, re.DOTALL)[1])
        fields = [
            (field.strip(), sizes[kind])
            for kind, names in re.findall(r"(unsigned long long|unsigned|int) ([\w, ]+);", body)
            for field in names.split(",")
        ]
        assert fields == [(field, dtype[field].itemsize) for field in dtype.names], name


MARKS = """
extern "C" __global__ void marks(unsigned* out, int blocks, int events, int first, int last, int spans) {
  if (threadIdx.x == 0) {
    ws::trace::ws_trace.place = reinterpret_cast<unsigned long long>(out);
    ws::trace::ws_trace.blocks = blocks;
    ws::trace::ws_trace.events = events;
    ws::trace::ws_trace.first = first;
    ws::trace::ws_trace.last = last;
  }
  __syncthreads();
  if (threadIdx.x >= 32 && threadIdx.x % 32 != 5) return;  // the other role is one elected thread
  for (int i = 0; i < spans; ++i) ws::Span span(threadIdx.x < 32 ? ws::Work::load : ws::Work::store, i);
}"""


@pytest.mark.parametrize("seed", range(5))
def test_what_the_header_writes_is_what_the_decoder_reads(seed):
    """Run the header itself in the emulator, whose lanes drift apart whenever they may."""
    header = HEADERS[0].read_text().replace("#pragma once", f"#define {spans.DEFINE}")
    header = header.replace('extern "C" __constant__ Control', "__device__ Control")  # which a kernel can write
    launch, window, marked = Launch(3, 64), Window(blocks=2, events=4, first=1 + seed, last=100), 7 + seed
    layout = spans.layout(window, launch)
    memory = np.zeros(
        (2, launch.blocks * layout.itemsize // 4), np.uint32
    )  # room enough to see what is written too far
    result = Kernel(header + MARKS, "marks", "marks.cu").run(
        memory, 2, 4, window.first, window.last, marked, grid=3, block=64, backend="emulator", checks=False, seeds=1
    )
    # Lanes read who speaks while the one that does writes: they need only find that it is not them.
    assert {fault.kind for fault in result.faults} <= {FaultKind.RACE}
    written = memory.tobytes()
    assert not any(written[layout.itemsize :])
    records = np.frombuffer(written[: layout.itemsize], layout.base).reshape(layout.shape)
    assert (records["head"]["seen"] == marked).all() and (records["head"]["speaker"][:, 1] == 6).all()
    trace = spans.decode(records, 1000.0)
    assert trace.lost == 4 * (marked - window.first - window.events)
    for block, warp, work in ((0, 0, "load"), (0, 1, "store"), (1, 0, "load"), (1, 1, "store")):
        mine = [s for s in trace.spans if (s.block, s.warp) == (block, warp) and s.work != "wait"]
        assert [(s.work, s.item) for s in mine] == [(work, window.first + i) for i in range(4)]
        assert all(a.end <= b.start for a, b in zip(mine, mine[1:], strict=False))
    assert trace.skipped == {0: window.first, 1: window.first}
