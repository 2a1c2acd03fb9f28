# expect: AssertionError
# cell: rounds
# A round that is not full is a round all the same.
rounds = 1000 // 80
last = 1000 - 11 * 80
microseconds = 1000 * 5 / 80
best = 1000
