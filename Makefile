# The project's jobs. Only Python (3.11 or newer) and make are needed; everything else is installed into .venv.
.POSIX:
PYTHON = python3
VENV = .venv
BIN = $(VENV)/bin
PARITY = .venv-parity
PACKAGE = .venv-package
NOTEBOOK = .venv-jupyter
# Whether there is a browser for the tests that need one, and what is said where none can be had.
CHROMIUM = { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null
NO_CHROMIUM = echo "no Chromium can be had here (Debian: apt-get update; apt-get install -y chromium): left out"
# Unit tests run side by side, a process for each core.
PYTEST = -m pytest -n auto --dist worksteal
# What `make unit` and `make test` run of the tests: folders, files, options of pytest.
TESTS =
# Other Pythons that `make pythons` tries, those of them that exist.
PYTHONS = /usr/bin/python3.1[1-9] /usr/local/bin/python3.1[1-9] $$HOME/.pyenv/versions/3.1[1-9]*/bin/python
# The version of PyTorch that gradsh behaves as, and those that `make torches` tries the lens with: the oldest, and the newest.
TORCH = 2.13.0
TORCHES = '==2.4.0' '>=$(TORCH)'
# What of the lens's tests holds for each version; the others hold PyTorch against gradsh's engine, which follows one.
LENS = tests/lens/test_harmless.py tests/lens/test_lens.py tests/lens/test_lines.py tests/lens/test_programs.py
VERSION = 'import platform; print(platform.python_version())'
# Tells one Python from another.
WHICH = 'import sys; print(sys.version, sys.base_prefix)'

.PHONY: bench bench-growth browser extension lab notebook page site fuzz torches run test check sweep parity package docs lint types unit golden clean pythons oldest newest FORCE

# The main job on scenario S1: a script goes in, what its backward freed and the failure that it announces come out.
run: $(VENV)/installed
	$(BIN)/gradsh run scripts/s01-four-backwards.grad 2>&1
	@echo
	@echo "A guided session of the same: $(BIN)/gradsh -c tour. The shell: $(BIN)/gradsh. More stories: scripts/README.md"

# The goldens run whatever the unit tests say; the status is that of whichever failed.
test: $(VENV)/developed
	@echo "unit tests and goldens: several minutes on two cores"
	@started=$$(date +%s); status=0; \
	$(BIN)/python $(PYTEST) $(TESTS) || status=$$?; \
	$(BIN)/gradsh test scripts README.md docs || status=$$?; \
	echo "unit tests and goldens took $$(($$(date +%s) - started)) s"; exit $$status

check: lint types test

unit: $(VENV)/developed
	$(BIN)/python $(PYTEST) $(TESTS)

# Tries every case of the long series of which `make test` tries a part: scripts typed at each prompt, calls in each form.
sweep: $(VENV)/developed
	GRADSH_SWEEP=1 $(BIN)/python $(PYTEST) tests/shell/test_typing.py tests/shell/test_manners.py tests/engine/test_calls.py \
		tests/interpreter/test_hints.py tests/interpreter/test_semantics.py tests/batch tests/golden tests/language tests/probe \
		tests/robustness

golden: $(VENV)/installed
	$(BIN)/gradsh test scripts README.md docs

lint: $(VENV)/developed
	$(BIN)/ruff check .

types: $(VENV)/developed
	$(BIN)/mypy

# Writes the documents that are made from the records.
docs: $(VENV)/developed
	$(BIN)/python -m tools.docs
	$(BIN)/python -m tools.man

# Builds the web site of the documents into build/site; a broken link or an example that is out of date ends it.
site: $(VENV)/developed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[site]'
	$(BIN)/python -m tools.docs --check
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "build/site/index.html"

# Compares with PyTorch itself, in an environment of its own.
parity: $(PARITY)/installed
	$(PARITY)/bin/python $(PYTEST) -m parity tests
	GRADSH_SWEEP=1 $(PARITY)/bin/python $(PYTEST) tests/oracle

# Runs unit tests under each other Python of the machine, in an environment of its own; a version is tried once.
pythons:
	@tried=" $$($(PYTHON) -c $(VERSION))"; for python in $(PYTHONS); do \
	version=$$("$$python" -c $(VERSION) 2>/dev/null) || continue; \
	case "$$tried " in *" $$version "*) continue;; esac; tried="$$tried $$version"; \
	"$$python" -c 'import ensurepip' 2>/dev/null || { echo "$$python cannot make an environment: left out"; continue; }; \
	echo "Python $$version ($$python):"; \
	$(MAKE) unit PYTHON="$$python" VENV=.venv-$$version TESTS="tests/language tests/engine tests/text tests/interpreter" || exit 1; \
	done; echo "tried:$$tried"

# Runs unit tests with the oldest, or the newest, of each package that pyproject.toml admits.
oldest newest:
	[ -x .venv-$@/bin/python ] || $(PYTHON) -m venv .venv-$@
	$(PYTHON) -m tools.ends $@ > .venv-$@/constraints.txt
	.venv-$@/bin/python -m pip install --quiet --disable-pip-version-check --upgrade --upgrade-strategy eager \
		-c .venv-$@/constraints.txt -e '.[dev]'
	.venv-$@/bin/python $(PYTEST) tests/language tests/engine tests/shell

# Tries the lens with the oldest PyTorch that it takes, and with the newest; one that cannot be installed is left out.
torches:
	@tried=; for torch in $(TORCHES); do rm -rf .venv-torch && $(PYTHON) -m venv .venv-torch || exit 1; \
	.venv-torch/bin/python -m pip install --quiet --no-cache-dir --disable-pip-version-check -c constraints.txt \
		-e . pytest hypothesis "torch$$torch" || { echo "torch$$torch cannot be installed here: left out"; continue; }; \
	.venv-torch/bin/python -c 'import torch; print("PyTorch", torch.__version__)'; \
	.venv-torch/bin/python -m pytest -q -m parity $(LENS) || exit 1; tried="$$tried torch$$torch"; \
	done; rm -rf .venv-torch; echo "tried:$$tried"

# Prints the table of speed and memory beside PyTorch, HIPS autograd and hand-written numpy (those that are installed).
bench: $(VENV)/developed
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks --raised mlp elementwise convolution
	$(BIN)/python -m benchmarks --threads 2 mlp elementwise

# Prints how costs grow, from a thousand nodes, statements, variables, lines and iterations to a million.
bench-growth: $(VENV)/developed
	$(BIN)/python -m benchmarks.growth

# Draws thousands of hostile inputs of each kind by seed, and holds gradsh to its word about every one.
fuzz: $(VENV)/developed
	$(BIN)/python -m fuzz all 5000

# Builds the extension for VS Code, if npm is here and finds what it needs.
extension:
	cd editors/vscode && npm install --no-audit --no-fund --no-package-lock && npm run package

# Builds the page of reports, gradsh/report/page.html, from page/, if npm is here and finds what it needs.
page:
	cd page && npm ci --no-audit --no-fund && npm run build

# Tries that page in Chromium. A Debian machine gets one by `apt-get update; apt-get install -y chromium`, others one of playwright's own;
# where there is none, or no playwright, the tests are left out.
browser: $(VENV)/developed
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check playwright || { echo "playwright cannot be installed here: left out"; exit 0; }; \
	$(CHROMIUM) || $(BIN)/python -m playwright install chromium || { $(NO_CHROMIUM); exit 0; }; \
	[ -d page/node_modules/axe-core ] || (cd page && npm ci --no-audit --no-fund) || echo "axe-core cannot be installed here: its test is left out"; \
	GRADSH_BROWSER=1 $(BIN)/python -m pytest -q -rs tests/report/test_browser.py

# Tries the kernel for Jupyter in an environment of its own; where that cannot be installed it is left out.
notebook:
	[ -x $(NOTEBOOK)/bin/python ] || $(PYTHON) -m venv $(NOTEBOOK)
	@$(NOTEBOOK)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[jupyter]' \
		nbclient nbconvert pytest hypothesis || { echo "the packages of Jupyter cannot be installed here: left out"; exit 0; }; \
	$(NOTEBOOK)/bin/python -m pytest -q -rs tests/kernel

# Tries that kernel in JupyterLab, in Chromium, where both can be had. GRADSH_LOOKS names a folder for screenshots.
lab:
	[ -x $(NOTEBOOK)/bin/python ] || $(PYTHON) -m venv $(NOTEBOOK)
	@$(NOTEBOOK)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[jupyter]' \
		jupyterlab playwright pytest hypothesis || { echo "JupyterLab or playwright cannot be installed here: left out"; exit 0; }; \
	$(CHROMIUM) || $(NOTEBOOK)/bin/python -m playwright install chromium || { $(NO_CHROMIUM); exit 0; }; \
	GRADSH_BROWSER=1 $(NOTEBOOK)/bin/python -m pytest -q -rs tests/kernel/test_lab.py

# Builds the sdist and, from it, the wheel, and checks both; installs the wheel in a fresh environment of PYTHON, and uses
# it there: the program, and the library with its types.
package: $(VENV)/developed
	rm -rf dist $(PACKAGE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build twine
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	$(PYTHON) -m venv $(PACKAGE)
	$(PACKAGE)/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl mypy
	cd $(PACKAGE) && bin/gradsh --version && bin/gradsh -c 'x = ones(2, requires_grad=True); backward (x * x).sum()'
	cp tests/packaging/user_program.py $(PACKAGE) && cd $(PACKAGE) && bin/python user_program.py && bin/python -m mypy --strict user_program.py

# An environment that another Python than PYTHON made is made again. The target is a file whose time is that of the making;
# bin/python is a link to an older file.
$(VENV)/pyvenv.cfg: FORCE
	@wanted=$$($(PYTHON) -c $(WHICH)) && if [ -f $(VENV)/installed ] && [ "$$($(BIN)/python -c $(WHICH))" != "$$wanted" ]; \
	then rm -rf $(VENV); fi
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)

FORCE:

# An editable install compiles nothing, and a script's walls keep the modules that it imports later from being compiled for the next run.
$(VENV)/installed: $(VENV)/pyvenv.cfg pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	$(BIN)/python -m compileall -q gradsh
	@touch $@

$(VENV)/developed: $(VENV)/installed constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

$(PARITY)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(PARITY)
	$(PARITY)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,torch]' torch==$(TORCH)
	@touch $@

clean:
	rm -rf $(VENV) $(PARITY) $(PACKAGE) .venv-* build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
