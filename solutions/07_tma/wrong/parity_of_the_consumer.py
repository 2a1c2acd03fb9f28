# expect: AssertionError
# The loader waits for the phase before, with the opposite parity.
arrivals = 1
announced = 4 * (64 * 32 + 32 * 48)
waits_for = [1, 0]
edge = 2048
places = [0, 8, 23, 56]
bank = 9
meet = [8, 1]
