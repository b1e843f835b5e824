"""What `save --expect` and `save FILE.html` write: a script run anew, in a form."""


def anew(text: str, seed: int, form: str) -> str:
    """Run a script; return it with what it shows as expectations (`grad`), or a report of it (`html`, `json`)."""
    if form == "grad":
        from gradsh.golden import transcript

        return transcript.with_expectations(text, seed)
    from gradsh.report.page import report_text
    from gradsh.report.recorder import recorded
    from gradsh.session.session import Session

    return report_text([{"name": "<shell>", **recorded(Session(seed), "<shell>", text)}], as_page=form == "html")
