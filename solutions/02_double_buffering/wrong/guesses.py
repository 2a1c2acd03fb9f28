# expect: AssertionError
# The loads are hidden, so only the arithmetic is left; the blocks take turns; a float4 is one register.
speedup = 4.0
blocks = 4
registers = 3
