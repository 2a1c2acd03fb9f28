# expect: AssertionError
# cell: times-answer
# Three products minus one are two, not three.
product_ms = (0.54 - 0.30) / 3
rest_ms = 0.30 - product_ms
overlapped_ms = max(product_ms, rest_ms)
idle = product_ms / 0.30
in_flight = 10_000
