"""The tree lowered to Python code objects, builtins, guarded attributes."""
