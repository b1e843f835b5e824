"""Source text, spans, problems and the kinds of errors; imports nothing of gradsh."""
