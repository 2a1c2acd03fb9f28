# expect: AssertionError
# Arrivals are counted in threads.
unified_full, full, empty, ahead = 5, 1, 4, 3
