# expect: AssertionError
# cell: numbers-answer
# Rounded down: the last 104 elements have no thread.
blocks = 7
idle = 24
warp = 2
lane = 13
