"""The role of a warp, told by the work that it did."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from ws_course.runtime import Span

_ROLES = {"load": "loader", "compute": "compute", "store": "storer"}


def role(works: Collection[str]) -> str:
    """Name a warp's role by the work it did: "loader", "compute", "storer", "waiting", "load+store", "every role"."""
    did = [work for work in _ROLES if work in works]
    if not did:
        return "waiting"
    if len(did) == len(_ROLES):
        return "every role"
    return _ROLES[did[0]] if len(did) == 1 else "+".join(did)


def rows(
    spans: Iterable[Span], blocks: Collection[int] | None = None, named: Mapping[int, str] | None = None
) -> list[tuple[int, str, int]]:
    """Return the rows of a timeline, top to bottom, as (block, role, warp): loaders first, then compute, then storers.

    ``blocks`` keeps only those blocks; ``None`` keeps all. ``named`` gives a warp another name than its work does, at
    the same place.
    """
    works: dict[tuple[int, int], set[str]] = defaultdict(set)
    for span in spans:
        if blocks is None or span.block in blocks:
            works[span.block, span.warp].add(span.work)
    order = list(_ROLES.values())
    found = [(block, role(did), warp) for (block, warp), did in works.items()]
    found.sort(key=lambda r: (r[0], order.index(r[1]) if r[1] in order else len(order), r[2]))
    return [(block, (named or {}).get(warp, name), warp) for block, name, warp in found]
