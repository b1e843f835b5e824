"""What a program runs in: the machine, guarded attributes, builtins, imports."""
