# expect: AssertionError
# XOR with the line, not an addition.
arrivals = 1
announced = 4 * (64 * 32 + 32 * 48)
waits_for = [1, 1]
edge = 2048
places = [0, 10, 23, 62]
bank = 9
meet = [8, 1]
