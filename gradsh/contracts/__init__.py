"""What the layers above commands and renderers agree on: the session's state, and the events it emits."""
