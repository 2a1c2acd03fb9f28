# expect: AssertionError
# cell: report-answer
# Some index that a report names, not the smallest.
kind = "out-of-bounds"
first = 1007
