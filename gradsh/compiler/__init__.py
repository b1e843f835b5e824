"""Lowers the tree to Python code objects."""
