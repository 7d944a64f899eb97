"""The import direction of the design: a module imports only from layers before its own."""

import ast
from pathlib import Path

import pytest

import sureflow

ROOT = Path(sureflow.__file__).parent

# First to last. Neighbors in one layer do not know each other; the longest matching name decides.
LAYERS = [
    {"errors", "files"},
    {"validation"},
    {"registry", "predictive"},
    {"runtime"},
    {"physics"},
    {"flow", "data"},
    {"models", "heads"},
    {"train"},
    {"uq"},
    {"surrogate"},
    {"evaluate", "campaign", "artifact"},
    {"learn"},
    {"trust", "choose"},
    {"config"},
    {"acquire", "report", "serve"},
    {"study"},
    {"cli"},
    {"__main__"},
]
LAYER = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def module_name(path: Path) -> str:
    """'flow.mesh' of .../sureflow/flow/mesh.py."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def home(module: str) -> str:
    """The entry of LAYERS that a module belongs to."""
    while module and module not in LAYER:
        module = module.rpartition(".")[0]
    return module


def imported_modules(path: Path) -> set[str]:
    """Modules of sureflow that a file imports, inside of functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            found.add(node.module or "")
            # `from sureflow.physics import quantities` imports a module as well.
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return {name.removeprefix("sureflow.") for name in found if name.startswith("sureflow.")}


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=module_name)
def test_imports_go_one_way(path):
    module = module_name(path)
    if not module:
        return  # the package itself may show what it likes
    own = home(module)
    assert own, f"{module} is in no layer: add it to LAYERS"
    for other in imported_modules(path):
        theirs = home(other)
        if theirs and theirs != own:
            assert LAYER[theirs] < LAYER[own], f"{module} ({own}) imports {other} ({theirs}), which is not before it"
