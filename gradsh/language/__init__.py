"""Tokens, lexer, tree and parser; knows no engine."""
