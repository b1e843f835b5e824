# The project's jobs. Only Python (3.11 or newer) and make are needed; everything else is installed into .venv.
.POSIX:
PYTHON = python3
VENV = .venv
BIN = $(VENV)/bin
PARITY = .venv-parity
PACKAGE = .venv-package

.PHONY: bench fuzz run test check parity package docs lint types unit golden clean

# The main job on scenario S1: a script goes in, what its backward freed and the failure that it announces come out.
run: $(VENV)/installed
	$(BIN)/gradsh run scripts/s01-four-backwards.grad 2>&1
	@echo
	@echo "A guided session of the same: $(BIN)/gradsh -c tour. The shell: $(BIN)/gradsh. More stories: scripts/README.md"

test: unit golden

check: lint types test

unit: $(VENV)/developed
	$(BIN)/python -m pytest

golden: $(VENV)/installed
	$(BIN)/gradsh test scripts

lint: $(VENV)/developed
	$(BIN)/ruff check .

types: $(VENV)/developed
	$(BIN)/mypy

# Writes the documents that are made from the records.
docs: $(VENV)/developed
	$(BIN)/python -m tools.docs
	$(BIN)/python -m tools.man

# Compares with PyTorch itself, in an environment of its own.
parity: $(PARITY)/installed
	$(PARITY)/bin/python -m pytest -m parity tests
	$(PARITY)/bin/python -m pytest tests/oracle

# Prints the table of speed and memory beside PyTorch, HIPS autograd and hand-written numpy (those that are installed).
bench: $(VENV)/developed
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks --raised mlp elementwise convolution

# Draws thousands of hostile inputs of each kind by seed, and holds gradsh to its word about every one.
fuzz: $(VENV)/developed
	for target in parse raw run golden commands settings; do $(BIN)/python -m fuzz $$target 5000 || exit 1; done

# Builds the sdist and, from it, the wheel; installs the wheel in a fresh environment and uses it there.
package: $(VENV)/developed
	rm -rf dist $(PACKAGE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build
	$(BIN)/python -m build --outdir dist .
	$(PYTHON) -m venv $(PACKAGE)
	$(PACKAGE)/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd $(PACKAGE) && bin/gradsh --version && bin/gradsh -c 'x = ones(2, requires_grad=True); backward (x * x).sum()'

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/developed: $(VENV)/installed constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

$(PARITY)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(PARITY)
	$(PARITY)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,torch]'
	@touch $@

clean:
	rm -rf $(VENV) $(PARITY) $(PACKAGE) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
