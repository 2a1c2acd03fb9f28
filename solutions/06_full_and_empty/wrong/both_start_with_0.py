# expect: AssertionError
# The loader's parities are the consumer's, and the running phase is counted as complete.
warm_up = [2, 2]
phase = 4
pending = 3
loader = [[tile % 3, tile // 3 % 2] for tile in range(7)]
consumer = [[tile % 3, tile // 3 % 2] for tile in range(7)]
first_wait = 3
