"""Colours of the editor for dark and light terminals. No information is in the colour alone."""

import os

_COMMON = {
    "bottom-toolbar": "noreverse", "bottom-toolbar.text": "noreverse", "status": "", "signature.here": "bold underline",
    "auto-suggestion": "#888888", "prompt": "bold", "grad.command": "bold", "grad.error": "underline",
}
DARK = {
    **_COMMON, "bottom-toolbar": "noreverse bg:#303030 #c0c0c0", "prompt": "bold ansibrightgreen",
    "grad.keyword": "ansibrightmagenta", "grad.number": "ansibrightcyan", "grad.string": "ansibrightyellow",
    "grad.comment": "italic #909090", "grad.operator": "#b0b0b0", "grad.command": "bold ansibrightblue",
    "grad.option": "ansibrightblue", "grad.error": "underline ansibrightred",
    "completion-menu.completion": "bg:#303030 #e0e0e0", "completion-menu.completion.current": "bg:#5f87af #ffffff bold",
    "completion-menu.meta.completion": "bg:#3a3a3a #b0b0b0", "completion-menu.meta.completion.current": "bg:#4f7797 #ffffff",
}
LIGHT = {
    **_COMMON, "bottom-toolbar": "noreverse bg:#e4e4e4 #303030", "prompt": "bold ansigreen",
    "grad.keyword": "ansimagenta", "grad.number": "ansiblue", "grad.string": "#a05000", "grad.comment": "italic #707070",
    "grad.operator": "#505050", "grad.command": "bold ansiblue", "grad.option": "ansiblue", "grad.error": "underline ansired",
    "completion-menu.completion": "bg:#e4e4e4 #202020", "completion-menu.completion.current": "bg:#5f87af #ffffff bold",
    "completion-menu.meta.completion": "bg:#d8d8d8 #505050", "completion-menu.meta.completion.current": "bg:#4f7797 #ffffff",
}
NONE = {**_COMMON, "bottom-toolbar": "noreverse", "auto-suggestion": "", "grad.error": ""}


def rules(theme: str) -> dict[str, str]:
    """Return the styles of a theme; `auto` looks at what the terminal tells of its background."""
    if theme == "auto":
        theme = background()
    return {"dark": DARK, "light": LIGHT}.get(theme, NONE)


def background() -> str:
    """Return dark or light, as COLORFGBG says; dark where the terminal says nothing, none where no colour is wanted."""
    if os.environ.get("NO_COLOR"):
        return "none"
    last = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    return "light" if last in {"7", "15"} else "dark"
