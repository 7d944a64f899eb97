"""What the numbers of a network mean. A head of your own is one class and `@HEADS.add`; its `name` selects it in files."""

from sureflow.heads.deterministic import Deterministic
from sureflow.heads.evidential import Evidential
from sureflow.heads.head import HEADS, Head
from sureflow.heads.mixture import Mixture
from sureflow.heads.mve import MVE

__all__ = ["HEADS", "MVE", "Deterministic", "Evidential", "Head", "Mixture"]
