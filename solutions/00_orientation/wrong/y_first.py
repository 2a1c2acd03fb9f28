# expect: AssertionError
# cell: numbers-answer
# Counted y first.
blocks = 8
idle = 24
warp = 1
lane = 11
