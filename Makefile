PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check
# Most installed modules are never imported: Python compiles the others at first import.
INSTALL := $(PIP) install --quiet --no-compile
CMAKE = $(BIN)/cmake -S . -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DPython_EXECUTABLE=$(abspath $(BIN))/python
unexport PYTHONDONTWRITEBYTECODE
# Ninja would take Make's flags for an offer of a job server and fail.
unexport MAKEFLAGS
SOURCES := pyproject.toml CMakeLists.txt README.md $(shell find src tools -name '*.py' -o -name '*.pyi' -o -name '*.?pp' -o -name noppa.json -o -path '*/serve/page/*')

# `make fuzz SECONDS=600` runs each fuzzer for ten minutes; `RESULTS=reliability/results` records the outcomes.
SECONDS ?= 60
ROUNDS ?= 3
results = $(if $(RESULTS),--results $(RESULTS)/$(1).jsonl)

.PHONY: demo check docs test suite extras harness bench-guard oldest sanitize fuzz chaos coverage system-packages clang clean

demo: $(VENV)/demo
	$(BIN)/python examples/demo.py

# Format, types and the tests of the core, on the source tree. Needs no network once the environment exists.
check:
	@test -e $(VENV)/test || $(MAKE) --no-print-directory $(VENV)/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $$(find src/native reliability/fuzz/native -name '*.?pp')
	$(BIN)/mypy
	$(MAKE) --no-print-directory build/dev/module
	PYTHONPATH=$(abspath src) $(BIN)/python -m pytest -q @tests/core.txt

# The site, in build/site. Warnings are errors.
docs: $(VENV)/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# Everything: the whole suite, each extra in its own environment, short runs of fuzzers and sanitizers.
# One BLAS thread: spinning threads would steal the core that another job needs.
test: export OPENBLAS_NUM_THREADS = 1
test: export OMP_NUM_THREADS = 1
test: $(VENV)/wheel
	$(MAKE) --no-print-directory -j3 suite extras harness

suite: $(VENV)/test system-packages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -m ""

# Niced: the suite is the critical path; the others use spare CPU.
extras: $(VENV)/wheel
	nice $(BIN)/python tools/try_extras.py --wheel $(VENV)/wheels/*.whl

harness: $(VENV)/test build/fuzz/programs
	nice $(BIN)/python reliability/fuzz/run.py --native build/fuzz --total 60
	nice $(BIN)/python reliability/builds.py address --short
	nice $(BIN)/python reliability/builds.py thread --short

# The native module next to the Python files; only changed files are compiled.
build/dev/module: $(shell find src/native tools -name '*.?pp' -o -name '*.py') CMakeLists.txt
	$(CMAKE) -B build/dev -DCMAKE_BUILD_TYPE=Release > /dev/null
	$(BIN)/cmake --build build/dev > /dev/null
	cp --remove-destination build/dev/_native*.so src/noppa/
	touch $@

# The core and the command line with the oldest dependencies that pyproject.toml allows.
oldest: $(VENV)/wheel
	$(PYTHON) -m venv --clear build/oldest
	build/oldest/bin/python -m pip install --quiet uv
	build/oldest/bin/uv pip install --quiet --python build/oldest/bin/python --resolution lowest-direct \
	  -r pyproject.toml --extra test-core
	build/oldest/bin/uv pip install --quiet --python build/oldest/bin/python --no-deps $(VENV)/wheels/*.whl
	build/oldest/bin/python -m pytest -q -p no:cacheprovider -W default::DeprecationWarning @tests/core.txt tests/test_cli.py

# Compare instruction counts with bench/results/instructions.jsonl; RECORD=1 updates the file. Needs valgrind.
bench-guard: build/dev/module
	PYTHONPATH=$(abspath src) $(BIN)/python bench/guard.py $(if $(RECORD),--record)

# The tests of the native module under sanitizers, and as compiled by Clang.
sanitize: $(VENV)/test clang
	for build in address thread clang; do $(BIN)/python reliability/builds.py $$build $(call results,builds) || exit 1; done

# Every fuzzer; a failing input is left in reliability/fuzz/corpus.
fuzz: $(VENV)/test build/fuzz/programs
	$(BIN)/python reliability/fuzz/run.py --native build/fuzz --seconds $(SECONDS) $(call results,fuzz)

build/fuzz/programs: $(VENV)/test $(SOURCES) $(wildcard reliability/fuzz/native/*) | clang
	$(CMAKE) -B build/fuzz -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_COMPILER=clang++ -DNOPPA_FUZZ=ON -DNOPPA_SANITIZE=address > /dev/null
	nice $(BIN)/cmake --build build/fuzz > /dev/null
	touch $@

# Commands that are killed, starved and run against each other.
chaos: $(VENV)/test
	$(BIN)/python reliability/chaos.py --rounds $(ROUNDS) $(call results,chaos)

# Line and branch coverage of Python and C++, including the processes that tests start.
coverage: $(VENV)/test system-packages
	$(INSTALL) gcovr
	$(BIN)/python reliability/builds.py coverage --build-only
	-PYTHONPATH=$(abspath build/other/coverage) COVERAGE_FILE=$(abspath build/coverage/data) \
	  $(BIN)/python -m coverage run -m pytest -q -p no:cacheprovider -m "not unsanitized"
	$(BIN)/python -m coverage combine --quiet && $(BIN)/python -m coverage report
	$(BIN)/gcovr --root . --filter src/native --exclude-throw-branches build/other/cmake/coverage

# A bare Debian has no ensurepip; python3-venv brings it.
$(BIN)/pip:
	$(PYTHON) -m venv $(VENV) || { apt-get update && apt-get install -y python3-venv && $(PYTHON) -m venv $(VENV); }

# Built once: everything is tested as it would be installed.
$(VENV)/wheel: $(BIN)/pip $(SOURCES)
	rm -rf $(VENV)/wheels
	$(PIP) wheel --quiet --no-deps --wheel-dir $(VENV)/wheels .
	touch $@

$(VENV)/demo: $(VENV)/wheel
	$(INSTALL) $(VENV)/wheels/*.whl
	$(INSTALL) --force-reinstall --no-deps $(VENV)/wheels/*.whl
	touch $@

# The extra `docs` only: the site is built from the sources, without a compiler.
$(VENV)/docs: $(BIN)/pip pyproject.toml
	$(INSTALL) $$(sed -n 's/^docs = \[\(.*\)\]$$/\1/p' pyproject.toml | tr -d '"' | sed 's/, / /g')
	touch $@

$(VENV)/test: $(VENV)/demo
	$(INSTALL) "$$(echo $(VENV)/wheels/*.whl)[dev]"
	touch $@

# Programs that tests marked `system` need, one apt-get at a time. $(call apt,PROGRAM,PACKAGE)
apt = @command -v $(1) > /dev/null || { apt-get install -y -q $(2) || { apt-get update -q && apt-get install -y -q $(2); }; } > /dev/null 2>&1 \
  || echo "$(2) cannot be installed here: the tests that need it will fail"

system-packages:
	$(call apt,chromium,chromium)
	$(call apt,java,default-jre-headless)

clang: system-packages
	$(call apt,clang++,clang)

clean:
	rm -rf $(VENV) build dist
