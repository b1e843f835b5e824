"""What a tensor's values are: dtypes, sizes, shapes, memory with its version counter, strides, named results."""
