"""The interactive session, all of prompt_toolkit and pygments."""
