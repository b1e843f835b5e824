"""The tensor and the node: what a graph consists of, and what its nodes saved."""
