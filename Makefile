# Two commands do everything on a fresh machine with Python 3.11+ and make: `make study` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help install test study verify peers lock audit sbom clean

help:
	@echo "make install   the virtual environment $(VENV), from pinned requirements"
	@echo "make test      install, then ruff, pyright and pytest"
	@echo "make study     install, then the quick study: runs, models, evaluation, report (minutes)"
	@echo "make verify    install, then the 441-run sweep and docs/verification.md (about half an hour)"
	@echo "make peers     install, then EZyRB, SMT, scikit-learn and SciPy on the runs of both studies, into docs/peers.md (hours)"
	@echo "make lock      pin the requirements again (needs uv)"
	@echo "make audit     known vulnerabilities of the pinned requirements (needs the network)"
	@echo "make sbom      sbom.json, the software bill of materials of a release (CycloneDX)"
	@echo "make clean     remove the virtual environment"

# The stamps hold the lock files' time, so that a second `make` installs nothing.
$(VENV)/.core: requirements/core.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "sureflow needs Python 3.11 or newer; this is " + sys.version.split()[0] + ": pass PYTHON=python3.11 to make")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements/core.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

$(VENV)/.test: $(VENV)/.core requirements/test.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements/test.txt
	touch $@

install: $(VENV)/.core

test: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	@command -v chromium > /dev/null && command -v chromedriver > /dev/null || echo "The tests of the explorer are skipped without a browser: apt-get install chromium chromium-driver"
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

study: install
	$(BIN)/sureflow study --preset quick --output study

verify: install
	$(BIN)/python benchmarks/sweep.py
	$(MAKE) --no-print-directory $(VENV)/.test
	$(BIN)/python benchmarks/verification.py

# PyTorch from PyPI brings gigabytes of CUDA along on Linux: PIP_EXTRA_INDEX_URL may name the index of its CPU builds.
peers-venv/.installed: requirements/peers.txt
	$(PYTHON) -m venv peers-venv
	peers-venv/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements/peers.txt
	touch $@

peers: install peers-venv/.installed
	$(BIN)/sureflow generate peers/paper.zarr --preset paper
	$(BIN)/sureflow generate peers/family.zarr --preset family
	$(BIN)/python benchmarks/peers.py --paper peers/paper.zarr --family peers/family.zarr \
		--python peers-venv/bin/python --output docs/peers.md

lock:
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--group build pyproject.toml --output-file requirements/core.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--all-extras --group test pyproject.toml --constraint requirements/core.txt --output-file requirements/test.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--extra serve --group build pyproject.toml --constraint requirements/core.txt --output-file requirements/serve.txt

# Tools that look at the requirements, apart from what they look at.
audit-venv/.installed:
	$(PYTHON) -m venv audit-venv
	audit-venv/bin/python -m pip install --quiet --disable-pip-version-check pip-audit cyclonedx-bom
	touch $@

audit: audit-venv/.installed
	audit-venv/bin/pip-audit --strict --disable-pip --no-deps --requirement requirements/core.txt
	audit-venv/bin/pip-audit --strict --disable-pip --no-deps --requirement requirements/serve.txt

sbom: audit-venv/.installed
	audit-venv/bin/cyclonedx-py requirements requirements/core.txt --pyproject pyproject.toml --output-format JSON --output-file sbom.json

clean:
	rm -rf $(VENV)
