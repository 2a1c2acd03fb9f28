# expect: AssertionError
# All SMs counted together, as if a cluster could reach across GPCs, and a neighbour outside the cluster.
rank = 5
next_to = 24
working = [66, 66, 64, 64]
asked = 20
fetched = 17
sent = 12
