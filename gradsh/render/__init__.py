"""Events and views drawn as text, JSON and pictures."""
