"""Cells of a notebook: the Jupyter kernel, and the session behind `%%grad`. Nothing on the way of `gradsh FILE` imports it."""
