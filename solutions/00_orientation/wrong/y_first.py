# expect: AssertionError
# cell: numbers-answer
# Counted y first.
blocks = 12
idle = 72
warp = 1
lane = 11
