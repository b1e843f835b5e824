"""What developers run: generated documents."""
