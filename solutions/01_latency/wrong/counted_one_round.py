# expect: AssertionError
# cell: answer
# One barrier for each tile.
barriers = 10
