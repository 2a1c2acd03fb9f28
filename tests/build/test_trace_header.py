"""Marking spans costs nothing in a kernel that is built without tracing: the machine code is the same."""

import io
import re
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from ws_course import emulator
from ws_course.build import nvrtc
from ws_course.kernels import catalog
from ws_course.runtime import spans

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
