"""The simulation of one SM, compiled by numba: which load, product and store happens when.

:mod:`ws_course.model.pipeline` says what the numbers mean and where they come from.
"""

from __future__ import annotations

import numpy as np
from numba import njit

# A CTA is free for its next tile, has it and sets out, multiplies, or is done.
_FREE, _SETTING_OUT, _COMPUTING, _DONE = range(4)
_ISSUES, _BEGINS, _MULTIPLIES, _ENDS = range(4)


@njit(cache=True)
def simulate(kind, by_threads, stages, intensity, tiles, times, product, spans):
    """Run the CTAs of one SM; return (nanoseconds, spans written, ns of loads in flight, ns with a CTA computing).

    ``kind`` is a place in :data:`ws_course.model.pipeline.KINDS`; ``by_threads``: C is stored by those who computed it,
    not by way of shared memory; ``times`` is a :class:`ws_course.model.pipeline.Times`; ``tiles`` holds the tiles of
    each CTA, ``product`` the time of a product by the number of CTAs that compute at once; ``spans`` (float64 [n, 5])
    takes CTA, work, tile, start and end, as far as it has rows.
    """
    ctas = tiles.size
    most = tiles.max()
    loaded = np.full((ctas, most + 1), np.inf)  # when a tile has landed
    opens = np.full((ctas, most + stages + 1), np.inf)  # when its load may be issued
    next_load = np.zeros(ctas, np.int64)
    loader_free = np.zeros(ctas)
    tile = np.zeros(ctas, np.int64)
    state = np.full(ctas, _FREE)
    when = np.zeros(ctas)  # when a CTA is free for the next tile, or has set out
    work = np.zeros(ctas)  # products left, and fractions of one
    began = np.zeros(ctas)
    c_free = np.zeros(ctas)  # when the tile of C in shared memory may be written again
    path_free, now, busy, in_flight, last, written = 0.0, 0.0, 0.0, 0.0, 0.0, 0
    serial, double, copies, unified, roles = kind == 0, kind == 1, kind == 2, kind == 3, kind == 4
    ahead = stages if roles else stages - 1 if copies or unified else 1
    for c in range(ctas):
        if tiles[c] == 0:
            state[c] = _DONE
        for i in range(min(ahead, tiles[c])):
            opens[c, i] = 0.0
        if unified and ahead < tiles[c]:
            opens[c, ahead] = 0.0
    while True:
        # What happens next: a load is issued, a CTA has its tile and sets out, multiplies, ends its product.
        computing = 0
        for c in range(ctas):
            if state[c] == _COMPUTING:
                computing += 1
        pace = product[max(computing, 1) - 1]
        at, who, what = np.inf, -1, -1
        for c in range(ctas):
            if next_load[c] < tiles[c]:
                t = max(opens[c, next_load[c]], loader_free[c])
                if t < at:
                    at, who, what = t, c, _ISSUES
            t = np.inf
            if state[c] == _FREE:
                t = max(when[c], loaded[c, tile[c]])
            elif state[c] == _SETTING_OUT:
                t = when[c]
            elif state[c] == _COMPUTING:
                t = now + work[c] * pace
            if t < at:
                at, who, what = t, c, state[c] + 1
        if who < 0:
            break
        at = max(at, now)
        for c in range(ctas):
            if state[c] == _COMPUTING:
                work[c] -= (at - now) / pace
        if computing:
            busy += at - now
        now = at
        c = who
        i = tile[c]
        if what == _ISSUES:  # the path into the SM takes one stage at a time; then the latency, and other SMs' traffic
            i = next_load[c]
            next_load[c] += 1
            start = max(now, path_free)
            path_free = start + times.path
            if roles:
                loader_free[c] = now + times.issue
            loaded[c, i] = start + times.latency + times.wait
            in_flight += loaded[c, i] - now
            written = _note(spans, written, c, 0, i, now, loaded[c, i])
        elif what == _BEGINS:
            state[c] = _SETTING_OUT
            gap = times.handoff if roles else 0.0
            if copies and i + ahead < tiles[c]:
                opens[c, i + ahead] = now + gap
                gap += times.issue
            when[c] = now + gap
        elif what == _MULTIPLIES:
            state[c] = _COMPUTING
            began[c] = now
            work[c] = intensity + times.extra
            if double and i + 1 < tiles[c]:
                opens[c, i + 1] = now
        else:
            written = _note(spans, written, c, 1, i, began[c], now)
            free = now
            if roles and i + stages < tiles[c]:
                opens[c, i + stages] = now + times.handoff
            if not by_threads:
                free = max(free, c_free[c])  # C in shared memory may be written once the tile before has been read
            begin, end = free, free + times.store
            c_free[c] = end + times.handoff
            written = _note(spans, written, c, 2, i, begin, end)
            last = max(last, end)
            if serial:
                free += times.barrier
                if i + 1 < tiles[c]:
                    opens[c, i + 1] = free
            if unified and i + 1 + ahead < tiles[c]:
                opens[c, i + 1 + ahead] = free
                free += times.issue
            when[c] = free
            tile[c] = i + 1
            state[c] = _FREE if i + 1 < tiles[c] else _DONE
    return last, written, in_flight, busy


@njit(cache=True)
def _note(spans, written, cta, work, tile, start, end):
    if written >= spans.shape[0]:
        return written
    spans[written, 0], spans[written, 1], spans[written, 2] = cta, work, tile
    spans[written, 3], spans[written, 4] = start, end
    return written + 1
