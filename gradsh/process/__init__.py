"""The process: memory, garbage, BLAS threads, signals, limits, files written whole."""
