"""The design of the package: import direction, and names that mean one thing."""

import ast
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

import sureflow

ROOT = Path(sureflow.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))

# First to last. Neighbors in one layer do not know each other; the longest matching name decides.
LAYERS = [
    {"errors", "files", "scratch", "distances", "pytrees", "remembered", "wording"},
    {"validation", "tensorfile", "failures"},
    {"registry", "predictive"},
    {"runtime"},
    {"physics"},
    {"flow", "data"},
    {"metrics", "importers"},
    {"models", "heads", "samplers"},
    {"train"},
    {"uq"},
    {"surrogate"},
    {"evaluate", "campaign", "export", "explore", "openmdao"},
    {"report", "acquire"},
    {"study", "serve"},
    {"reproduction"},
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


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported_modules(path: Path) -> set[str]:
    """Modules of sureflow that a file imports, inside of functions too."""
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            found.add(node.module or "")
            # `from sureflow.physics import quantities` imports a module as well.
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return {name.removeprefix("sureflow.") for name in found if name.startswith("sureflow.")}


@pytest.mark.parametrize("path", MODULES, ids=module_name)
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


def used_twice(named: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Names with the modules that use them, where there are several."""
    places = defaultdict(list)
    for name, module in named:
        places[name].append(module)
    return {name: modules for name, modules in places.items() if len(modules) > 1}


def test_no_module_name_is_used_twice():
    """A file of cli/ has the name of its command, and an `__init__` that of its folder."""
    modules = [module_name(path) for path in MODULES if path.name != "__init__.py"]
    assert not used_twice((name.rpartition(".")[2], name) for name in modules if not name.startswith("cli."))


def test_no_class_name_is_used_twice():
    classes = (
        (node.name, module_name(path))
        for path in MODULES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ClassDef)
    )
    assert not used_twice(classes)
