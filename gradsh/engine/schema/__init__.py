"""What an operation is: its overloads, their signatures and derivatives."""
