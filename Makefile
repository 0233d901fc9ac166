# Everything a fresh machine needs is python3 (3.11 or later) with pip and venv, and make.
# `make help` lists the commands. Another interpreter: make test PYTHON=python3.12
# Arguments for the program behind a command: make test ARGS="-k recall"

PYTHON ?= python3
ARGS   ?=
# How many processes the tests are spread over: one more than CI has processors, as many tests wait.
JOBS   ?= 3

VENV  := .venv
BIN   := $(VENV)/bin
BUILD := build
PIP   := $(BIN)/python -m pip --disable-pip-version-check --quiet

# What memolith-minilm is built from; a change here, and nothing else, rebuilds it.
MINILM         := packages/memolith-minilm
MINILM_SOURCES := $(shell find $(MINILM) -type f \( -name '*.py' -o -name '*.toml' -o -name '*.json' -o -name '*.md' \) -not -path '*/build/*' -not -path '*/.*')

# Each process that a test starts would compile Memolith anew.
unexport PYTHONDONTWRITEBYTECODE

# One line for each step, on stderr, so that a program's own output stays clean.
say = @echo "memolith: $(1)" >&2

.DEFAULT_GOAL := help
.PHONY: help dev demo test cover soak check check-prose fix api rules demo-image injection wheel lock clean distclean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z%-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

dev: $(VENV)/.ready ## set up .venv with Memolith, editable, and the development tools

demo: $(VENV)/.ready ## replay a conversation, ask about it, show what is remembered
	@$(BIN)/memolith demo $(ARGS)

demo-image: $(VENV)/.ready ## draw docs/images/demo.svg from the output of the demo
	@$(BIN)/python tools/demo_image.py

# Tests run against the wheel, unpacked apart, which goes before the editable install: a file
# missing from the wheel fails here, and .venv stays as developers use it.
test: $(VENV)/.ready wheel ## run the tests against the built wheel
	$(call say,testing the wheel)
	@PYTHONPATH="$(CURDIR)/$(BUILD)/wheel" $(BIN)/python -m pytest --numprocesses $(JOBS) \
	    --dist worksteal $(ARGS)

cover: $(VENV)/.ready wheel ## run the tests and require 95 % of the core's branches
	$(call say,testing the wheel and measuring branches)
	@PYTHONPATH="$(CURDIR)/$(BUILD)/wheel" $(BIN)/python -m pytest --cov-branch --cov-fail-under=95 \
	    --cov=memolith.domain --cov=memolith.text --cov=memolith.policies --cov=memolith.services $(ARGS)

soak: $(VENV)/.ready wheel ## run the long tests: many trials, large stores
	$(call say,running the long tests on the wheel)
	@PYTHONPATH="$(CURDIR)/$(BUILD)/wheel" $(BIN)/python -m pytest -m soak --hypothesis-profile=soak $(ARGS)
	$(call say,running profiles and commands with vectors in Chroma)
	@PYTHONPATH="$(CURDIR)/$(BUILD)/wheel" $(BIN)/python -m pytest --chroma tests/conformance tests/unit/cli
	$(call say,running profiles and the main doors through a service and its client)
	@PYTHONPATH="$(CURDIR)/$(BUILD)/wheel" $(BIN)/python -m pytest --served tests/conformance tests/integration -k served
	$(call say,trying every route with what is another owner's, on PostgreSQL too)
	@PYTHONPATH="$(CURDIR)/$(BUILD)/wheel" $(BIN)/python -m pytest --everywhere -m soak tests/integration/http/test_tenant_isolation.py
	@PYTHONPATH="$(CURDIR)/$(BUILD)/wheel" $(BIN)/python -m pytest --everywhere \
	    tests/integration/mcp tests/integration/http tests/integration/test_plaintext_leaks.py

check: $(VENV)/.ready check-prose ## lint, format, types, import contracts: what CI runs
	$(call say,checking style)
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet
	$(call say,checking types)
	@$(BIN)/mypy --no-error-summary
	$(call say,checking import contracts)
	@$(BIN)/lint-imports --no-logo
	@$(PIP) check
	$(call say,checking spelling)
	@$(BIN)/codespell

check-prose: $(VENV)/.ready ## check the language of docs, docstrings, messages and names
	$(call say,checking prose)
	@$(BIN)/python tools/check_prose.py $(ARGS)

fix: $(VENV)/.ready ## apply what ruff can fix and format
	@$(BIN)/ruff check --quiet --fix || true
	@$(BIN)/ruff format --quiet

api: $(VENV)/.ready ## generate src/memolith/api/_generated.py from OwnerMemory and Memolith
	@$(BIN)/python tools/generate_api.py

rules: $(VENV)/.ready ## test the rules of the profiles, write build/rules.md
	@mkdir -p $(BUILD)
	@$(BIN)/python -m pytest --quiet --junitxml=$(BUILD)/conformance.xml tests/conformance $(ARGS); \
	    status=$$?; $(BIN)/python tools/rules.py $(BUILD)/conformance.xml && exit $$status

injection: $(VENV)/.ready ## bring in every hostile text, print what broke a rule
	@PYTHONPATH=tests $(BIN)/python -m support.injection_trials $(ARGS)

bench-%: $(VENV)/.ready ## run benchmarks/NAME.py, e.g. make bench-speed ARGS="--memories 1000"
	@test -f benchmarks/$*.py || { echo "There is no benchmarks/$*.py." >&2; exit 1; }
	@PYTHONPATH=tests $(BIN)/python benchmarks/$*.py $(ARGS)

wheel: $(VENV)/.tools ## build the wheel and unpack it under build/wheel
	$(call say,building the wheel)
	@rm -rf $(BUILD)/wheel $(BUILD)/dist/memolith-[0-9]*.whl
	@$(PIP) wheel --no-deps --no-build-isolation --wheel-dir $(BUILD)/dist .
	@$(PIP) install --no-deps --no-compile --target $(BUILD)/wheel $(BUILD)/dist/memolith-[0-9]*.whl

lock: $(BUILD)/dist/.minilm ## resolve the newest versions anew into requirements/dev.lock
	$(call say,resolving versions in an environment of its own)
	@rm -rf $(BUILD)/lock
	@$(PYTHON) -m venv $(BUILD)/lock
	@$(BUILD)/lock/bin/python -m pip install --quiet --upgrade pip
	@$(BUILD)/lock/bin/python -m pip install --quiet --group dev $(BUILD)/dist/memolith_minilm-*.whl .
	@{ echo "# Exact versions for development and CI. Written by \`make lock\`; do not edit."; \
	   $(BUILD)/lock/bin/python -m pip freeze --exclude memolith --exclude memolith-minilm; \
	 } > requirements/dev.lock
	@rm -rf $(BUILD)/lock

clean: ## remove what was built and cached, but not .venv
	@rm -rf $(BUILD) .coverage .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

distclean: clean ## remove .venv too
	@rm -rf $(VENV)

# --- set-up: each stamp stands for a finished step ----------------------------------------------

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Memolith needs Python 3.11 or later, and '$(PYTHON)' is not that." >&2; \
	  echo "Name another one: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(call say,creating $(VENV))
	@$(PYTHON) -m venv $(VENV) || { \
	  rm -rf $(VENV); \
	  echo "'$(PYTHON) -m venv' failed; on Debian and Ubuntu it needs the package python3-venv." >&2; exit 1; }
	@touch $@

$(VENV)/.tools: $(VENV)/.created requirements/dev.lock
	$(call say,installing dependencies at the locked versions)
	@$(PIP) install --requirement requirements/dev.lock
	@touch $@

$(BUILD)/dist/.minilm: $(VENV)/.created $(MINILM_SOURCES)
	$(call say,building the local embedding model (fetched once and checked by its checksum))
	@mkdir -p $(BUILD)/dist
	@rm -f $(BUILD)/dist/memolith_minilm-*.whl
	@$(PIP) wheel --no-deps --wheel-dir $(BUILD)/dist ./$(MINILM)
	@touch $@

$(VENV)/.minilm: $(VENV)/.tools $(BUILD)/dist/.minilm
	@$(PIP) install --no-deps --force-reinstall $(BUILD)/dist/memolith_minilm-*.whl
	@touch $@

$(VENV)/.ready: $(VENV)/.minilm pyproject.toml
	$(call say,installing memolith into $(VENV))
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@
