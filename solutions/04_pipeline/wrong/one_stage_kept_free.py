# expect: AssertionError
# The last stage need not stay free.
unified_full, full, empty, ahead = 160, 32, 128, 2
