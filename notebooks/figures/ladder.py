"""Draw the picture of the README from the record: every rung, at one CTA per SM and at its best occupancy."""

from pathlib import Path

from ws_course.bench.record import Measurement, load
from ws_course.kernels.catalog import LADDER
from ws_course.viz import Bar, Provenance, figure, ladder, limit_ms, save

OUTPUT = Path(__file__).parents[2] / "docs" / "images" / "ladder"


def draw():
    """Return the figure."""
    record = load("tile-ladder")
    rungs = [spec.name for spec in LADDER if record.select(spec.name)]
    bars = []
    for kernel in rungs:
        one, best = record.find(kernel, 1), record.find(kernel, "best")
        bars += [Bar.of(m, setting(m)) for m in ([one] if one is best else [one, best])]
    first = record.find(rungs[0], 1)
    picture, ax = figure(8.6, 0.62 * len(rungs) + 1.3)
    ladder(
        ax,
        bars,
        provenance=Provenance.recorded(record),
        limit_ms=limit_ms(record, first),
        limit_name="copy-bandwidth limit",
        title=f"{first.problem['tiles']:,} products of 64×64 tiles: the same work, {len(rungs)} ways to overlap it",
    )
    return picture


def setting(m: Measurement) -> str:
    """Return at which occupancy and with how many stages a kernel was measured, as the text inside its bar."""
    occupancy = f"{m.ctas_per_sm} CTA{'s' if m.ctas_per_sm > 1 else ''} per SM"
    return f"{occupancy}, {m.params['STAGES']} stages" if "STAGES" in m.params else occupancy


if __name__ == "__main__":
    save(draw(), OUTPUT)
