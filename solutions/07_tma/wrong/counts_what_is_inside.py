# expect: AssertionError
# The engine writes zeros for what is outside, and counts them.
arrivals = 1
announced = 4 * (64 * 32 + 32 * 48)
waits_for = [1, 1]
edge = 4 * 5 * 12
places = [0, 8, 23, 56]
bank = 9
meet = [8, 1]
