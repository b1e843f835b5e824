"""The person's own: where files stand (XDG folders), what `config.toml` says, and the settings of the shell."""

import os
from pathlib import Path
from typing import Any

from gradsh.contracts.settings import SETTINGS, defaults


def config_folder() -> Path:
    """Return the folder of `config.toml` and `init.grad`."""
    return _folder("XDG_CONFIG_HOME", ".config")


def state_folder() -> Path:
    """Return the folder of the history."""
    return _folder("XDG_STATE_HOME", ".local/state")


def _folder(variable: str, default: str) -> Path:
    base = os.environ.get(variable, "")
    return (Path(base) if base.startswith("/") else Path.home() / default) / "gradsh"


class Config:
    """What `config.toml` says: the shell's settings, those that scripts have, too, and what is wrong with it."""

    def __init__(self) -> None:
        self.values = defaults(shell=True)
        self.shared: dict[str, str] = {}
        self.problems: list[str] = []
        self.init = ""
        """The text of `init.grad`, which is run at the start."""

    def read(self, text: str, name: str) -> None:
        """Take what a TOML text says; what is wrong is noted."""
        import tomllib

        try:
            self.take(tomllib.loads(text), name)
        except tomllib.TOMLDecodeError as error:
            self.problems.append(f"{name}: {error}")
        except RecursionError:
            self.problems.append(f"{name}: its values are nested too deeply")

    def take(self, table: dict[str, Any], name: str) -> None:
        """Take the keys of a table; what is wrong is noted, and the default kept."""
        for key, value in table.items():
            word = {True: "on", False: "off"}[value] if isinstance(value, bool) else value
            setting = SETTINGS.get(key)
            if setting is None:
                self.problems.append(f"{name}: there is no setting {key}{_nearest(key)}")
            elif not isinstance(word, str):
                self.problems.append(f"{name}: {key} must be a string, on or off")
            elif setting.choices and word not in setting.choices:
                self.problems.append(f"{name}: {key} can be {' or '.join(setting.choices)}, not {word}")
            elif setting.shell:
                self.values[key] = setting.value(word)
            else:
                self.shared[key] = word


def _nearest(key: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key, [*SETTINGS], 1)
    return f"; did you mean {near[0]}?" if near else ""


def read_config() -> Config:
    """Read `config.toml` and `init.grad`; what cannot be read is noted, never raised."""
    config = Config()
    file = config_folder() / "config.toml"
    text = _text(file, config)
    if text:
        config.read(text, str(file))
    config.init = _text(config_folder() / "init.grad", config)
    return config


def _text(file: Path, config: Config) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        words = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error.strerror or error
        config.problems.append(f"cannot read {file}: {words}")
        return ""
