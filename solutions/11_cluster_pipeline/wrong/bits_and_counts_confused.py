# expect: AssertionError
# cell: paper
# The number of CTAs in place of their bits; the bytes of a full round in the last one.
everyone = 4
others = 3
announced = [16384, 16384, 16384, 16384]
arrivals = 1
parities = [0, 0, 0, 1, 1, 1, 0]
asked = [1048576, 786432, 655360, 589824]
