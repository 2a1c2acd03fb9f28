# expect: AssertionError
# One barrier for each tile.
barriers = 10
