"""The command line described as data, and what is written from it: completion for bash, zsh and fish, and the man page."""

from collections.abc import Callable
from typing import NamedTuple

from gradsh.commands import USAGE, find


class Flag(NamedTuple):
    """An option: its spellings, what it means, what its value is (empty: it takes none), the words it chooses from."""

    names: tuple[str, ...]
    help: str
    value: str = ""
    choices: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """The option as a usage line has it."""
        value = "|".join(self.choices) or self.value
        return ", ".join(self.names) + (f" {value}" if value else "")


class Sub(NamedTuple):
    """A subcommand: its name (empty for the program itself), what it does, its options, its arguments as a usage line."""

    name: str
    help: str
    flags: tuple[Flag, ...]
    arguments: str = ""
    choices: tuple[str, ...] = ()


def bash(subs: tuple[Sub, ...]) -> str:
    """Return the completion for bash: subcommands and files first, then options, values and files."""
    cases = "\n".join(
        f"        {sub.name}) words=\"{_spellings(sub)} {' '.join(sub.choices)}\" ;;" for sub in subs if sub.name
    )
    values = "\n".join(
        f"        {'|'.join(flag.names)}) COMPREPLY=($(compgen -W \"{' '.join(flag.choices)}\" -- \"$cur\")); return ;;"
        for flag in {flag.names: flag for sub in subs for flag in sub.flags if flag.choices}.values()
    )
    names = " ".join(sub.name for sub in subs if sub.name)
    return f"""# bash completion for gradsh; put it where bash looks, as ~/.local/share/bash-completion/completions/gradsh
_gradsh() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" words
    case "$previous" in
{values}
    esac
    case "${{COMP_WORDS[1]}}" in
{cases}
        *) words="{_spellings(*subs[:2])}" ;;
    esac
    if [ "$COMP_CWORD" -eq 1 ]; then words="{names} $words"; fi
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    case "$cur" in -*) ;; *) COMPREPLY+=($(compgen -f -- "$cur")) ;; esac
}}
complete -o filenames -F _gradsh gradsh
"""


def zsh(subs: tuple[Sub, ...]) -> str:
    """Return the completion for zsh, with what each option means."""
    names = "\n".join(f"        '{sub.name}:{_quoted(sub.help)}'" for sub in subs if sub.name)
    cases = "\n".join(
        f"        ({sub.name})\n            _arguments -s {_zsh_flags(sub)} \\\n                {_zsh_rest(sub)}\n            ;;"
        for sub in subs if sub.name
    )
    return f"""#compdef gradsh
# zsh completion for gradsh; put it into a folder of $fpath as _gradsh
_gradsh() {{
    local -a subcommands
    subcommands=(
{names}
    )
    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
        _describe subcommand subcommands
        _files
        return
    fi
    case $words[2] in
{cases}
        (*)
            _arguments -s {_zsh_flags(subs[0], subs[1])} \\
                '*:script:_files'
            ;;
    esac
}}
_gradsh "$@"
"""


def fish(subs: tuple[Sub, ...]) -> str:
    """Return the completion for fish, with what each option means."""
    lines = ["# fish completion for gradsh; put it into ~/.config/fish/completions/gradsh.fish"]
    for sub in subs:
        seen = f"__fish_seen_subcommand_from {sub.name}" if sub.name else "__fish_use_subcommand"
        if sub.name:
            lines.append(f"complete -c gradsh -n __fish_use_subcommand -a {sub.name} -d '{_quoted(sub.help)}'")
        if sub.choices:
            lines.append(f"complete -c gradsh -n '{seen}' -f -a '{' '.join(sub.choices)}'")
        for flag in sub.flags:
            spellings = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in flag.names)
            value = f" -x -a '{' '.join(flag.choices)}'" if flag.choices else " -r" if flag.value else ""
            lines.append(f"complete -c gradsh -n '{seen}' {spellings}{value} -d '{_quoted(flag.help)}'")
    return "\n".join(lines) + "\n"


SHELLS: dict[str, Callable[[tuple[Sub, ...]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}


def man(subs: tuple[Sub, ...], version: str) -> str:
    """Return the man page (section 1): the command line, the shell's commands, the kinds of errors, exit status, files."""
    from gradsh.text.kinds import KINDS

    edition = f"gradsh {version}".strip()
    out = [f'.TH GRADSH 1 "" "{edition}" "User Commands"', ".SH NAME", "gradsh \\- find out why a PyTorch backward fails",
           ".SH SYNOPSIS", ".B gradsh", "[FILE]...", ".br", ".B gradsh", "\\-c CODE"]
    for sub in subs:
        if sub.name:
            out += [".br", f".B gradsh {sub.name}", _roff(f"[OPTION]... {sub.arguments}".rstrip())]
    out += [".SH DESCRIPTION", _roff(subs[0].help)]
    for sub in subs:
        out += [f".SS gradsh {sub.name}".rstrip(), _roff(sub.help) if sub.name else "Options of the program itself."]
        for flag in sub.flags:
            out += [".TP", f".B {_roff(flag.shown)}", _roff(flag.help)]
    out += [".SH COMMANDS OF THE SHELL"]
    for name, usage in USAGE.items():
        out += [".TP", f".B {_roff(f'{name} {usage}'.rstrip())}", _roff(find(name).doc)]
    out += [".SH KINDS OF ERRORS"]
    for kind in KINDS.values():
        out += [".TP", f".B {_roff(kind.name)}", _roff(kind.summary)]
    out += [".SH EXIT STATUS", "0 success, 1 a statement or a golden test failed, 2 wrong usage or a missing file, 130 interrupted.",
            ".SH FILES"]
    for file, meaning in FILES:
        out += [".TP", f".I {_roff(file)}", _roff(meaning)]
    out += [".SH ENVIRONMENT"]
    for variable, meaning in ENVIRONMENT:
        out += [".TP", f".B {variable}", _roff(meaning)]
    return "\n".join(out) + "\n"


FILES = (
    ("~/.config/gradsh/config.toml", "the settings that `set` shows, as NAME = VALUE"),
    ("~/.config/gradsh/init.grad", "a script that the shell runs when it starts"),
    ("~/.local/state/gradsh/history", "the statements of earlier sessions"),
)
ENVIRONMENT = (
    ("NO_COLOR", "the plain prompt: no colour, no redrawing, ASCII"), ("ACCESSIBLE", "the same as NO_COLOR"),
    ("FORCE_COLOR, CLICOLOR_FORCE", "colour without a terminal, too; NO_COLOR overrides them, --color overrides all"),
    ("FORCE_HYPERLINK", "1: places are links on any terminal; 0: on none"),
    ("TERM", "`dumb` selects the plain prompt"), ("COLORFGBG", "whether the background of the terminal is light"),
    ("PAGER", "the pager for long output"), ("EDITOR", "the editor that F2 opens"),
    ("XDG_CONFIG_HOME, XDG_STATE_HOME", "the folders of these files"), ("GRADSH_DEBUG", "show the traceback of an internal error"),
)


def _spellings(*subs: Sub) -> str:
    return " ".join(dict.fromkeys(name for sub in subs for flag in sub.flags for name in flag.names))


def _quoted(text: str) -> str:
    return text.replace("'", "’").replace(":", " -")


def _zsh_flags(*subs: Sub) -> str:
    found = []
    for flag in {flag.names: flag for sub in subs for flag in sub.flags}.values():
        said = _quoted(flag.help).replace("[", "(").replace("]", ")")
        value = f":{flag.names[-1].lstrip('-')}:({' '.join(flag.choices)})" if flag.choices else ":value:_files" if flag.value else ""
        found += [f"'{name}[{said}]{value}'" for name in flag.names]
    return " ".join(found)


def _zsh_rest(sub: Sub) -> str:
    return f"'*:{sub.name}:({' '.join(sub.choices)})'" if sub.choices else "'*:file:_files'"


def _roff(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    return f"\\&{text}" if text.startswith((".", "'")) else text
