"""What the last layer means. A head is registered by joining the union below; its `name` selects it in TOML."""

from typing import Annotated

from pydantic import Field

from sureflow.heads.base import Head
from sureflow.heads.deterministic import Deterministic
from sureflow.heads.evidential import Evidential
from sureflow.heads.mve import MVE

AnyHead = Annotated[Deterministic | MVE | Evidential, Field(discriminator="name")]

__all__ = ["MVE", "AnyHead", "Deterministic", "Evidential", "Head"]
