# expect: AssertionError
# The parity of the tile's number, not of its round.
warm_up = [2, 2]
phase = 17 // 5
pending = 17 % 5
loader = [[tile % 3, 1 - tile % 2] for tile in range(7)]
consumer = [[tile % 3, tile % 2] for tile in range(7)]
first_wait = 3
