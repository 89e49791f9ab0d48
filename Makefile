# Everything runs in .venv, which is made on first use. PYTHON chooses the interpreter (>= 3.10).
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
UV     := $(BIN)/uv pip install --quiet --python $(BIN)/python

.PHONY: help demo test lint parity bench clean

help:
	@echo "make demo    install, then assess a sample picture"
	@echo "make test    install with development tools, then every check and test"
	@echo "make lint    style, types and architecture only"
	@echo "make parity  compare with other libraries (installs torch; slow)"
	@echo "make bench   speed, always as a ratio to a peer measured in the same run"

$(BIN)/uv:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "AgenticIQA needs Python 3.10 or newer; set PYTHON=/path/to/python3")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet uv

$(VENV)/.installed: pyproject.toml $(BIN)/uv
	$(UV) -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml $(BIN)/uv
	$(UV) -e '.[dev]'
	@touch $@ $(VENV)/.installed

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/python -m pytest --cov

clean:
	rm -rf $(VENV) build dist .coverage* htmlcov demo-output
