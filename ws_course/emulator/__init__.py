"""The CUDA-on-CPU emulator: it runs a kernel's threads as fibers and finds the mistakes that a GPU hides."""
