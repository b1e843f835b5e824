"""Numpy kernels that several records share. No operation is declared here."""
