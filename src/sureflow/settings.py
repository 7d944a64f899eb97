"""How settings are declared: frozen dataclasses that refuse unknown keys, in Python as in TOML and artifacts."""

from pydantic import ConfigDict

STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)
