# expect: AssertionError
# cell: numbers-answer
# Rounded down: the last 184 elements have no thread.
blocks = 11
idle = 72
warp = 2
lane = 13
