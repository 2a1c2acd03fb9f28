# expect: AssertionError
# cell: times-answer
# The bytes in flight of the whole GPU.
product_ms = 0.12
rest_ms = 0.18
overlapped_ms = 0.18
idle = 0.4
in_flight = 1_000_000
