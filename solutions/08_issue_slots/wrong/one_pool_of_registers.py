# expect: AssertionError
# cell: fit
# Takes the registers of the SM for one pool, not for four quarters.
def resident(warps, registers, shared):
    """Return how many CTAs fit on an SM: warps of a CTA, registers of a thread, bytes of a CTA."""
    of_a_warp = -(-32 * registers // 256) * 256
    by_registers = 65536 // of_a_warp // warps
    by_shared = 228 * 1024 // (shared + 1024)
    return min(by_registers, by_shared, 64 // warps, 32)


REGISTERS, SHARED = (32, 41, 73, 96, 105, 168, 255), (0, 1024, 16384, 65536, 98304, 231424)
fits = [[[resident(w, r, s) for s in SHARED] for r in REGISTERS] for w in (1, 2, 3, 5, 9)]
