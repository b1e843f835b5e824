"""The glossary as a page, and the wordings that it has retired: `tests/house/test_words.py` finds them in what a user can see."""

from gradsh.text.glossary import TERMS

RETIRED = {
    r"foret[oe]l": "dry run: `would run …`, predicts",
    r"lies about": "is orphaned",
    r"\band leaves?\b[.;]": "exits",
    r"giv(?:es?|ing) back \d": "releases, releasing",
    r"\bmemories\b": "storages",
    r"\btheirs alone\b": "held by graphs alone",
    r"\bpass(?:es)? (?:of|\d+ of) the (?:inner |outer )?loop": "iteration of the loop",
    r"\b(?:each|every|one) pass\b": "each iteration (of a loop), each backward",
    r"\bthe (?:first|second|next|earlier|later) pass\b": "the first backward",
    r"\bfrom pass to pass\b": "from iteration to iteration",
    r"\bbefore it failed, the pass\b": "before it failed, backward",
    r"\bways? out\b": "fix",
    r"\bstands? in (?:as|an?)\b": "is a stub",
    r"\bno longer holds?\b": "is outdated",
    r"\bwas seen to\b": "was tried",
    r"\bis no leaf\b": "is not a leaf",
    r"\bgo(?:es)? back (?:once|from)\b": "call backward",
    r"\bthe story\b": "the explanation",
    r"\btells? (?:the|a|what|who|how)\b": "shows",
    r"\bto be learnt\b": "to be trained",
    r"\b[Cc]ut(?:s)? the history\b": "detach",
    r"\bdetached twins?\b": "detached copy",
    r"\bbound anew\b": "assigned again",
    r"\bas ever\b": "as usual",
    r"\bfor which nothing fails\b": "that raise no error",
}
"""A pattern of each wording that is not used any more, and what is written instead."""
HEAD = """# Glossary

The terms of gradsh's output and documentation. `help TERM` prints the definition in the shell.

| term | meaning |
| --- | --- |
"""


def glossary_page() -> str:
    """Return the page: each term and its definition."""
    return HEAD + "".join(f"| **{term}** | {meaning} |\n" for term, meaning in sorted(TERMS.items(), key=lambda one: one[0].lower()))
