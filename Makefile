PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check
# Python compiles what it imports, once, and keeps it; most of what is installed is never imported.
INSTALL := $(PIP) install --quiet --no-compile
unexport PYTHONDONTWRITEBYTECODE
# Ninja takes these flags for an offer of Make's job server, which Make keeps to itself, and gives up.
unexport MAKEFLAGS
SOURCES := pyproject.toml CMakeLists.txt README.md $(shell find src tools -name '*.py' -o -name '*.pyi' -o -name '*.?pp' -o -name noppa.json -o -path '*/serve/page/*')

# `make fuzz SECONDS=600`: for each fuzzer. `RESULTS=reliability/results`: where fuzz, sanitize and chaos record what they did.
SECONDS ?= 60
ROUNDS ?= 3
recorded = $(if $(RESULTS),--results $(RESULTS)/$(1).jsonl)

.PHONY: demo check docs test suite extras harness bench-guard arm oldest sanitize fuzz chaos coverage chromium java clang man shells clean

demo: $(VENV)/demo
	$(BIN)/python examples/demo.py

# One BLAS thread: spinning threads steal the core the other job needs.
test: export OPENBLAS_NUM_THREADS = 1
test: export OMP_NUM_THREADS = 1

# What a change of the core needs: format, types, and the tests of text to vectors, on the tree as it lies here. Where the
# environment is there already, this needs no network, and never root, a browser or Java. The same tests check every wheel.
check:
	@test -e $(VENV)/test || $(MAKE) --no-print-directory $(VENV)/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $$(find src/native reliability/fuzz/native -name '*.?pp')
	$(BIN)/mypy
	$(MAKE) --no-print-directory build/dev/module
	PYTHONPATH=$(abspath src) $(BIN)/python -m pytest -q @tests/core.txt

# The site, into build/site; open its index.html. Warnings are errors. tests/test_site.py builds it, too, and looks at what came out.
docs: $(VENV)/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# The native module beside the Python files that import it; only what changed is compiled.
build/dev/module: $(shell find src/native tools -name '*.?pp' -o -name '*.py') CMakeLists.txt
	$(BIN)/cmake -S . -B build/dev -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DCMAKE_BUILD_TYPE=Release \
	  -DPython_EXECUTABLE=$(abspath $(BIN))/python > /dev/null
	$(BIN)/cmake --build build/dev > /dev/null
	cp --remove-destination build/dev/_native*.so src/noppa/
	touch $@

# The core and the command line on the oldest versions that pyproject.toml allows, which warn about newer ones that they meet.
oldest: $(VENV)/wheel
	$(PYTHON) -m venv --clear build/oldest
	build/oldest/bin/python -m pip install --quiet uv
	build/oldest/bin/uv pip install --quiet --python build/oldest/bin/python --resolution lowest-direct \
	  -r pyproject.toml --extra test-core
	build/oldest/bin/uv pip install --quiet --python build/oldest/bin/python --no-deps $(VENV)/wheels/*.whl
	build/oldest/bin/python -m pytest -q -p no:cacheprovider -W default::DeprecationWarning @tests/core.txt tests/test_cli.py

# Instructions of fixed inputs against bench/results/instructions.jsonl, 30 s of CPU; RECORD=1 writes that anew. Needs valgrind.
bench-guard: build/dev/module
	PYTHONPATH=$(abspath src) $(BIN)/python bench/guard.py $(if $(RECORD),--record)

# Side by side: ours in one environment with all, each extra in one of its own, other builds and fuzzers.
test: $(VENV)/wheel
	$(MAKE) --no-print-directory -j3 suite extras harness

suite: $(VENV)/test chromium java shells
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -m ""

# Niced: the suite is the critical path; the extras use spare CPU.
extras: $(VENV)/wheel
	nice $(BIN)/python tools/try_extras.py --wheel $(VENV)/wheels/*.whl

# Short forms of the targets below, niced as well.
harness: $(VENV)/test build/fuzz/programs
	nice $(BIN)/python reliability/fuzz/run.py --native build/fuzz --total 60
	nice $(BIN)/python reliability/builds.py address --short
	nice $(BIN)/python reliability/builds.py thread --short

# The native module under sanitizers, and as Clang builds it, with all tests that touch it.
sanitize: $(VENV)/test clang
	$(BIN)/python reliability/builds.py address $(call recorded,builds)
	$(BIN)/python reliability/builds.py thread $(call recorded,builds)
	$(BIN)/python reliability/builds.py clang $(call recorded,builds)

# The native module for 64-bit ARM, cross-compiled and tested under an emulator.
arm: $(VENV)/test
	$(BIN)/python reliability/arm.py $(call recorded,builds)

# Every fuzzer; an input that breaks one is left in reliability/fuzz/corpus.
fuzz: $(VENV)/test build/fuzz/programs
	$(BIN)/python reliability/fuzz/run.py --native build/fuzz --seconds $(SECONDS) $(call recorded,fuzz)

# libFuzzer comes with Clang. AddressSanitizer and UndefinedBehaviorSanitizer watch.
build/fuzz/programs: $(VENV)/test $(SOURCES) $(wildcard reliability/fuzz/native/*) | clang
	$(BIN)/cmake -S . -B build/fuzz -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
	  -DCMAKE_CXX_COMPILER=clang++ -DPython_EXECUTABLE=$(abspath $(BIN))/python -DNOPPA_FUZZ=ON -DNOPPA_SANITIZE=address > /dev/null
	nice $(BIN)/cmake --build build/fuzz > /dev/null
	touch $@

# Commands that are killed, starved and run against each other.
chaos: $(VENV)/test
	$(BIN)/python reliability/chaos/run.py --rounds $(ROUNDS) $(call recorded,chaos)

# Lines and branches of Python and C++ that the tests reach; what they do not is in reliability/results/uncovered.txt.
coverage: $(VENV)/test chromium java
	$(BIN)/python reliability/measure_coverage.py $(if $(RESULTS),--results $(RESULTS)/coverage.json)

# `python -m venv` lacks its pip on a bare Debian; python3-venv brings it, where we may install packages.
$(BIN)/pip:
	$(PYTHON) -m venv $(VENV) || { apt-get update && apt-get install -y python3-venv && $(PYTHON) -m venv $(VENV); }

# Built once; everything is tried as it would be installed.
$(VENV)/wheel: $(BIN)/pip $(SOURCES)
	rm -rf $(VENV)/wheels
	$(PIP) wheel --quiet --no-deps --wheel-dir $(VENV)/wheels .
	touch $@

$(VENV)/demo: $(VENV)/wheel
	$(INSTALL) $(VENV)/wheels/*.whl
	$(INSTALL) --force-reinstall --no-deps $(VENV)/wheels/*.whl
	touch $@

# The extra `docs` alone, from its line in pyproject.toml: the site is made from the sources as they lie, without a compiler.
$(VENV)/docs: $(BIN)/pip pyproject.toml
	$(INSTALL) $$(sed -n 's/^docs = \[\(.*\)\]$$/\1/p' pyproject.toml | tr -d '"' | sed 's/, / /g')
	touch $@

$(VENV)/test: $(VENV)/demo
	$(INSTALL) "$$(echo $(VENV)/wheels/*.whl)[dev]"
	touch $@

# The page is tested in a real browser; where none can be installed, the run says what it lacks.
chromium:
	@command -v chromium chromium-browser google-chrome > /dev/null || { command -v apt-get > /dev/null && \
	  { apt-get install -y -q chromium || { apt-get update -q && apt-get install -y -q chromium; }; } > /dev/null 2>&1; } || \
	  echo "no Chromium here, and it cannot be installed: the tests of the page cannot run"

# Spark runs on Java. One after the other: apt does not like company.
java: chromium
	@command -v java > /dev/null || { command -v apt-get > /dev/null && \
	  { apt-get install -y -q default-jre-headless || { apt-get update -q && apt-get install -y -q default-jre-headless; }; } > /dev/null 2>&1; } || \
	  echo "no Java here, and it cannot be installed: the tests of Spark cannot run"

# Completion is tested in every shell that there is, the man page by mandoc. After Java: apt takes one at a time.
shells: java
	@{ command -v zsh && command -v fish && command -v mandoc; } > /dev/null || { command -v apt-get > /dev/null && \
	  { apt-get install -y -q zsh fish mandoc || { apt-get update -q && apt-get install -y -q zsh fish mandoc; }; } > /dev/null 2>&1; } || \
	  echo "no zsh, fish or mandoc here, and they cannot be installed: their tests cannot run"

# docs/noppa.1, of the help texts.
man: $(VENV)/test
	$(BIN)/python -m tests.man_page

clang: shells
	@command -v clang++ > /dev/null || { command -v apt-get > /dev/null && \
	  { apt-get install -y -q clang || { apt-get update -q && apt-get install -y -q clang; }; } > /dev/null 2>&1; } || \
	  echo "no Clang here, and it cannot be installed: the fuzzers of the C++ cannot run"

clean:
	rm -rf $(VENV) build dist
