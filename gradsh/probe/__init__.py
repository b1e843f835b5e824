"""Read-only questions about a graph, answered as named tuples."""
