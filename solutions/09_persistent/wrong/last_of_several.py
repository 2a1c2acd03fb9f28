# expect: AssertionError
# cell: finish
# Of CTAs that are ready at the same time, the last one asks first.
CASES = [
    ([5, 1, 1, 1, 4], 2),
    ([3, 1], 5),
    ([2, 2, 2, 9], 4),
    ([(7 * i * i + 3 * i) % 23 + 1 for i in range(500)], 48),
    ([1 + 30 * (i % 12 == 0) for i in range(400)], 24),
]


def finish(work, ctas, counter):
    done = [0] * ctas  # when each CTA is done with what it has had so far
    for tile, cost in enumerate(work):
        ready = [c for c in range(ctas) if done[c] == min(done)]
        cta = ready[-1] if counter and tile >= ctas else tile % ctas
        done[cta] += cost
    return done


dealt_out = [finish(work, ctas, False) for work, ctas in CASES]
from_counter = [finish(work, ctas, True) for work, ctas in CASES]
