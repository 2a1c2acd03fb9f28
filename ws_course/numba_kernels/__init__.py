"""The first kernels again in numba.cuda, for readers of Python; without a GPU they run in numba's simulator."""
