# Every target that needs Python goes through .venv, which is built from the hashed lock files.
# Once .venv stands, nothing but `bench` and `docs` (the first time) and `lock` needs the network.

# python3 if it is 3.11 or newer, else python3.11; override with `make PYTHON=...`.
PYTHON ?= $(shell if python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	then echo python3; elif command -v python3.11 >/dev/null 2>&1; then echo python3.11; \
	else echo python3; fi)
SHELL := bash
.SHELLFLAGS := -o pipefail -ec
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
BENCH_STAMP := $(VENV)/.bench-installed
DOCS_STAMP := $(VENV)/.docs-installed
RAY_STAMP := $(VENV)/.ray-installed
PIP := $(BIN)/python -m pip --disable-pip-version-check
# uv installs what pip needs a minute for in ten seconds; pip installs uv.
UV := $(BIN)/uv pip install --quiet --no-deps --python $(BIN)/python
LOCK_FLAGS := --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header --no-annotate

# The tests start hundreds of programs, which compile themselves each time if their bytecode is not kept.
unexport PYTHONDONTWRITEBYTECODE

# LANG is the locale, too: as `make test-clients LANG=go` gives it, it names a language of clients/, and programs get a
# locale that exists.
ifeq ($(origin LANG),command line)
CLIENT := $(LANG)
override LANG := C.UTF-8
MAKEOVERRIDES := $(filter-out LANG=%,$(MAKEOVERRIDES))
ifeq ($(wildcard clients/$(CLIENT)/Makefile),)
$(error LANG=$(CLIENT): there is no such client; LANG is one of $(notdir $(patsubst %/Makefile,%,$(wildcard clients/*/Makefile))))
endif
endif
PYTEST := $(BIN)/python -m pytest -n 4 --dist loadgroup -rfEs

.DEFAULT_GOAL := help
.PHONY: architecture docs diagrams gallery test-installed release packages compiled test-compiled pictures drill help venv demo test test-long test-again coverage test-fast test-learners test-processes test-slow test-clients test-page test-ray test-ray-small test-cold studies playthroughs check check-page generate format bench chaos soak fuzz attacks clients six-languages lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z.-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: $(STAMP) ## build .venv from requirements.lock
.venv: $(STAMP)

$(STAMP): requirements-uv.lock requirements.lock pyproject.toml studies/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "Dovetail needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@home='import sys; print(sys.base_prefix)'; \
	test "$$($(BIN)/python -c "$$home" 2>/dev/null)" = "$$($(PYTHON) -c "$$home")" || \
		$(PYTHON) -m venv --clear $(VENV) # also if it was built by another Python
	$(PIP) install --quiet --no-deps --require-hashes -r requirements-uv.lock
	$(UV) --require-hashes -r requirements.lock
	$(UV) --no-build-isolation -e . -e studies
	@touch $@

# The bench lock agrees with requirements.lock on every package that both name.
$(BENCH_STAMP): requirements-bench.lock $(STAMP)
	$(UV) --require-hashes -r requirements-bench.lock
	@touch $@

$(DOCS_STAMP): requirements-docs.lock $(STAMP)
	$(UV) --require-hashes -r requirements-docs.lock
	@touch $@

docs: $(DOCS_STAMP) ## build the site into build/site; a warning is an error, as is a page that no one finds
	$(BIN)/python -m sphinx -q -W --keep-going -j 2 -c docs/site . build/site
	$(BIN)/python -m pytest -n 0 -q -m slow tests/test_site.py

# Ray is 285 MB, so that only its tests pay for it; its lock agrees with requirements.lock, too.
$(RAY_STAMP): requirements-ray.lock $(STAMP)
	$(UV) --require-hashes -r requirements-ray.lock
	@touch $@

diagrams: $(STAMP) ## draw the documents' Mermaid diagrams that changed (needs npm and chromium)
	$(BIN)/python docs/site/diagrams.py

gallery: $(STAMP) ## play and draw every player, and write docs/gallery.md (minutes)
	$(BIN)/python docs/site/gallery.py

demo: $(STAMP) ## watch two learners learn Connect Four by playing each other
	$(BIN)/dovetail demo

test: $(STAMP) ## run the tests, without the long and slow ones and those of the clients
	$(PYTEST)

test-long: $(STAMP) ## run the tests that take more than a few seconds: whole experiments, kills, searches, browsers
	$(PYTEST) -m "long and not slow and not clients"

test-again: $(STAMP) ## run the tests that failed last time once more, one after the other
	.ci/failed > $(VENV)/failed
	$(BIN)/python -m pytest -n 0 -rfEs -m "" @$(VENV)/failed

test-fast: $(STAMP) ## run the tests that need no socket, no program and no compiler
	$(PYTEST) -m "fast and not long and not slow"

test-learners: $(STAMP) ## run the tests that play and train
	$(PYTEST) -m "learners and not slow"

test-processes: $(STAMP) ## run the tests with sockets and programs
	$(PYTEST) -m "processes and not slow"

test-clients: $(STAMP) ## build and test the clients that changed; one of them with LANG=go
	DOVETAIL_CLIENT=$(CLIENT) $(PYTEST) -m "clients and not slow" tests/clients $(if $(CLIENT),,tests/web)

# The tests that exercise the contract and the broker; slow tests are left out, as in the other groups.
COVERING := tests/broker tests/protocol tests/peer tests/cli/test_processes.py tests/cli/test_replay.py
coverage: $(STAMP) ## measure branch coverage of protocol/ and broker/
	$(BIN)/python -m pytest -n 2 -q --timeout 600 $(COVERING) --cov --cov-report=term

test-slow: $(STAMP) ## run the slow tests only
	$(BIN)/python -m pytest -m slow

test-cold: ## test the clients as a fresh machine would: a copy of this folder, empty caches
	@set -e; copy=$$(mktemp -d); trap 'rm -rf "$$copy"' EXIT; \
	git ls-files -z --cached --others --exclude-standard | \
		tar --create --null --files-from - --ignore-failed-read | tar --extract --directory "$$copy"; \
	.ci/cold $(MAKE) --no-print-directory -C "$$copy" PYTHON="$(PYTHON)" test-clients

# What the wheel is made of, so that it is built again if a source changed.
SOURCES := $(shell find src env_servers agent_servers experiments bridges web -name '*.py' -not -path '*/node_modules/*')
COMPILED := .venv-compiled/.installed

compiled: $(COMPILED) ## build a compiled wheel into build/compiled, installed in .venv-compiled

# .venv-compiled borrows the libraries of .venv: a path file adds that folder after its own, so that the wheel comes first.
$(COMPILED): $(STAMP) hatch_build.py $(SOURCES)
	rm -rf .venv-compiled build/compiled/*.whl
	DOVETAIL_COMPILE=1 $(BIN)/python -m build --wheel --no-isolation --outdir build/compiled .
	$(BIN)/python -m venv --without-pip .venv-compiled
	site='import sysconfig; print(sysconfig.get_path("purelib"))'; \
	$(BIN)/python -c "$$site" > "$$(.venv-compiled/bin/python -c "$$site")/libraries.pth"
	$(PIP) --python .venv-compiled/bin/python install --quiet --no-deps --no-index --no-build-isolation --ignore-installed build/compiled/*.whl ./studies
	@touch $@

test-compiled: $(STAMP) ## build the compiled core, and run the tests of the broker, the contract, the peers and the kit with it (slow)
	$(BIN)/python -m pytest -m slow tests/compiled

test-installed: $(STAMP) ## follow the tutorial and try the commands of the guides from the wheel, outside of the checkout (slow)
	$(BIN)/python -m pytest -m slow tests/test_tutorial.py

release: $(STAMP) ## build what a release consists of into dist/, and try each piece (needs the network)
	$(BIN)/python .ci/release $(PYTHONS)

check: $(STAMP) ## lint, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache | tail -n 6
	$(BIN)/python -m dovetail_generate --check
	.ci/prose

WEB_TOOLS := web/node_modules/.package-lock.json
$(WEB_TOOLS): web/package.json web/package-lock.json
	npm --prefix web ci --silent --no-audit --no-fund
	@touch $@

check-page: $(WEB_TOOLS) ## types, lint, formatting and unit tests of the page's modules (needs npm)
	web/node_modules/.bin/tsc -p web/tsconfig.json
	cd web && node_modules/.bin/eslint . && node_modules/.bin/prettier --check --log-level warn .
	cd web && node --test test/

generate: $(STAMP) ## write SPEC.md's tables, the schema, the vectors and the clients' messages
	$(BIN)/python -m dovetail_generate

architecture: $(STAMP) ## draw the floors of docs/architecture.md from the imports
	$(BIN)/python .ci/architecture

test-page: $(STAMP) ## play every game on the page, othello in TypeScript too, and check the pages with axe (slow)
	$(BIN)/python -m pytest -m slow tests/web

test-ray: $(RAY_STAMP) ## play on a Ray cluster of three nodes on this host, and kill some (slow)
	$(BIN)/python -m pytest -rs -m slow tests/experiments/test_cluster.py tests/experiments/test_machines.py

test-ray-small: $(RAY_STAMP) ## the smallest of them, which CI runs: a tournament of which a worker, then the driver is killed
	$(BIN)/python -m pytest -n 0 -m slow tests/experiments/test_cluster.py -k "worker-SIGKILL or driver-SIGKILL"

studies: $(STAMP) ## run every row of the studies at its small size: 150 s on two free cores, five minutes at most
	$(BIN)/dovetail study --all --quick

playthroughs: $(STAMP) ## write tests/playthroughs after a change of rules
	$(BIN)/python -m tests.playthroughs.record

format: $(STAMP) ## format the code and apply safe lint fixes
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

bench: $(BENCH_STAMP) ## measure in 15 minutes, or ROWS="1 shards"; wants `make compiled clients` first
	$(BIN)/python -m bench $(addprefix --rows ,$(ROWS))

pictures: $(STAMP) ## take the pictures of the page again, and measure clicks (needs chromium); one part with PICTURE=home
	$(BIN)/python -m tests.web.pictures $(PICTURE)

chaos: $(STAMP) ## kill, stop and cut real programs, and compare the results with an undisturbed run
	$(BIN)/python -m tests.chaos

attacks: $(STAMP) ## play a match beside each attack of a hostile peer, and report what it costs
	$(BIN)/python -m tests.chaos.attacks

soak: $(STAMP) ## play at full rate with faults for MINUTES (60), and draw docs/images/soak.svg
	$(BIN)/python -m tests.chaos.soak --minutes $(or $(MINUTES),60)

fuzz: $(BENCH_STAMP) ## fuzz decoder, wire, CURVE, access file and core by coverage, MINUTES (10) each, and keep what reaches new code
	$(BIN)/python -m tests.fuzz.run --minutes $(or $(MINUTES),10)

clients: ## build the client libraries of all languages
	@lacks=$$(.ci/packages); [ -z "$$lacks" ] || { echo "make clients needs Debian packages: apt-get install" $$lacks >&2; exit 1; }
	@for each in clients/*/Makefile; do $(MAKE) --no-print-directory -C "$$(dirname "$$each")" build || exit 1; done

packages: $(STAMP) ## pack the clients into dist/, and try each from outside; one with LANG=go
	$(BIN)/python clients/packages.py $(CLIENT)

six-languages: $(STAMP) clients ## players of six languages in a round robin
	$(BIN)/dovetail run experiments/dovetail_experiments/examples/six_languages.toml

drill: ## show that a change of the contract needs no edit in any client (slow)
	.ci/drill

lock: $(STAMP) ## resolve the lock files from scratch (needs the network)
	echo uv | $(BIN)/uv pip compile $(LOCK_FLAGS) -o requirements-uv.lock -
	$(BIN)/uv pip compile $(LOCK_FLAGS) --extra games --extra experiments --extra cma --extra gymnasium --extra pettingzoo \
		--extra openspiel --extra mcp --extra web --extra language-models --extra postgres --extra dev -o requirements.lock pyproject.toml
	$(BIN)/uv pip compile $(LOCK_FLAGS) --extra ray -c requirements.lock -o requirements-ray.lock pyproject.toml
	$(BIN)/uv pip compile $(LOCK_FLAGS) --extra bench -c requirements.lock -o requirements-bench.lock pyproject.toml
	$(BIN)/uv pip compile $(LOCK_FLAGS) --extra docs -c requirements.lock -o requirements-docs.lock pyproject.toml

clean: ## remove .venv, caches and build output
	rm -rf $(VENV) .venv-compiled build dist out *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
