"""Read-only questions about a graph, answered as frozen dataclasses."""
