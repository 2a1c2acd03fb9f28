# expect: AssertionError
# What the visible tests compare is right, and all else forgets that parities turn.
warm_up = [2, 2]
phase = 17 // 5
pending = 17 % 5
loader = [[tile % 3, 1] for tile in range(7)]
consumer = [[tile % 3, 0] for tile in range(7)]
first_wait = 2
