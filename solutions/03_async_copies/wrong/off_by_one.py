# expect: AssertionError
# The groups before the loop, and the rows that are left.
allowed = 3
empty = 4
