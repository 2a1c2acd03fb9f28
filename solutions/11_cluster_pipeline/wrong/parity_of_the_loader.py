# expect: AssertionError
# cell: paper
# The parity for empty, not for ready; B divided by 8 in every cluster.
everyone = 15
others = 14
announced = [16384, 16384, 8192, 8192]
arrivals = 4
parities = [1, 1, 1, 0, 0, 0, 1]
asked = [589824, 589824, 589824, 589824]
