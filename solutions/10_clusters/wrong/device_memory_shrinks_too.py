# expect: AssertionError
# As if device memory were read once for each cluster, and a leader sent to itself as well.
rank = 5
next_to = 16
working = [66, 66, 60, 56]
asked = 20
fetched = 20
sent = 16
