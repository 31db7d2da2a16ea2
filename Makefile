# A thin front of Meson. `make help` lists the targets.
#
#   make                    builds build/bawn
#   make run                installs what the build needs, builds, shows what bawn does
#   make test               the same, and runs every test suite
#
# Only the dependency step of `make run` and `make test` asks for root (through sudo), and only if something is missing.

# Where this Makefile lies: `make -f ~/src/bawn/Makefile run CMD=claude` works in the current directory.
TOP := $(patsubst %/,%,$(dir $(firstword $(MAKEFILE_LIST))))

# Settings, all of which may be given on the command line.
BUILD        ?= $(TOP)/build
PREFIX       ?= /usr/local
DESTDIR      ?=
MESON_FLAGS  ?=
FUZZ_SECONDS ?= 60
SUITES       ?=
CMD          ?=
BENCH        ?=

SANITIZE = -Db_sanitize=address,undefined -Db_lundef=false -Dc_args=-fno-sanitize-recover=all

# Where hostile bytes and pointers are: the units with every fuzz corpus, the plans, and the suites that drive a helper or the supervisor, each claim
# once. The others judge walls, or are wrappers around git, npm, packages and text: `make asan SUITES=all` runs them, too.
SANITIZED_SUITES = unit golden ask bare crash egress forge ssh_agent vault web workspace

# On aarch64 the search for leaks of gcc 12 takes 4 s at the end of every process, however small: there only the unit
# tests are searched (tests/run sees to that). Elsewhere it is free, and all are.
LEAKS := $(if $(filter aarch64 arm64,$(shell uname -m)),0,1)
SANITIZE_ENV = BAWN_SANITIZED=1 UBSAN_OPTIONS=print_stacktrace=1 \
	ASAN_OPTIONS=strict_string_checks=1:detect_stack_use_after_return=1:detect_leaks=$(LEAKS)

# The order of prerequisites matters here; ninja is what runs in parallel.
.NOTPARALLEL:
.DEFAULT_GOAL := all

.PHONY: all
all: ## build build/bawn (the default)
	@"$(TOP)/tools/build" "$(BUILD)" $(MESON_FLAGS)

.PHONY: run
run: deps ## install dependencies, build, demonstrate; CMD='…' runs bawn with those arguments instead
	@"$(TOP)/tools/build" --programs "$(BUILD)" $(MESON_FLAGS)
ifeq ($(strip $(CMD)),)
	@"$(TOP)/examples/demo" "$(abspath $(BUILD))/bawn"
else
	@"$(BUILD)/bawn" $(CMD)
endif

.PHONY: check
check: all ## build, and test in a minute: units, plans, the project's own checks
	@"$(TOP)/tests/run" --build "$(BUILD)" --layer check $(SUITES)

.PHONY: test
test: deps-test all ## install dependencies, build, test every promise (SUITES='unit cli': some; SUITES='vault redirect': a part)
	@"$(TOP)/tests/run" --build "$(BUILD)" $(SUITES)

.PHONY: test-all
test-all: deps-test all lint-all ## the same with every agent, size and repetition, and the whole lint: for releases, hours
	@"$(TOP)/tests/run" --build "$(BUILD)" --layer all $(SUITES)

.PHONY: asan
asan: ## build with gcc's address and undefined-behaviour sanitizers in build/asan and run the suites they can find faults in
	@CC=gcc "$(TOP)/tools/build" "$(BUILD)/asan" -Doptimization=g $(SANITIZE) $(MESON_FLAGS)
	@$(SANITIZE_ENV) "$(TOP)/tests/run" --build "$(BUILD)/asan" $(filter-out all,$(or $(SUITES),$(SANITIZED_SUITES)))

.PHONY: clang
clang: ## build with clang in build/clang, warnings are errors
	@CC=clang "$(TOP)/tools/build" "$(BUILD)/clang" -Dwerror=true

.PHONY: lint-tree
lint-tree:
	@CC=clang "$(TOP)/tools/build" --generated "$(BUILD)/clang" -Dwerror=true

.PHONY: lint
lint: lint-tree ## layers, banned functions, format, shellcheck, and what changed by clang's warnings, clang-tidy and cppcheck
	@"$(TOP)/tools/lint" "$(BUILD)/clang"

.PHONY: lint-all
lint-all: lint-tree ## the same with all C files; then tools/linted.txt names them as clean
	@"$(TOP)/tools/lint" "$(BUILD)/clang" all

.PHONY: format
format: ## rewrite the C files as .clang-format says
	@"$(TOP)/tools/check-format" --fix

.PHONY: fuzz
fuzz: ## build the fuzz targets in build/fuzz and run each for FUZZ_SECONDS (60)
	@CC=clang "$(TOP)/tools/build" "$(BUILD)/fuzz" -Dfuzz=true $(SANITIZE)
	@"$(TOP)/tools/fuzz" "$(BUILD)/fuzz" "$(FUZZ_SECONDS)"

.PHONY: real
real: all ## build and test others' software outside and inside, for hours (SUITES='git redis': some); root fetches it
	@BAWN="$(abspath $(BUILD))/bawn" BAWN_BUILD="$(abspath $(BUILD))" BAWN_REAL=all "$(TOP)/tests/real/run" $(SUITES)

.PHONY: bench
bench: all ## measure beside others, some minutes (BENCH='start net' measures some); see docs/PERFORMANCE.md
	@BAWN="$(abspath $(BUILD))/bawn" BAWN_BUILD="$(abspath $(BUILD))" "$(TOP)/bench/run" $(BENCH)

.PHONY: install
install: ## install into PREFIX (/usr/local), below DESTDIR if that is set
	@"$(TOP)/tools/build" --prefix "$(PREFIX)" "$(BUILD)" $(MESON_FLAGS)
	@"$(TOP)/tools/install" "$(BUILD)" "$(DESTDIR)"

.PHONY: uninstall
uninstall: ## remove what `make install` with the same PREFIX and DESTDIR has installed; it builds nothing
	@"$(TOP)/tools/uninstall" "$(PREFIX)" "$(DESTDIR)"

.PHONY: dist
dist: ## the archives of a release in build/dist: the source, and static programs that need no libc
	@"$(TOP)/tools/dist" "$(BUILD)/dist"

.PHONY: deb
deb: ## a Debian package for this machine in build/deb
	@"$(TOP)/tools/deb" "$(BUILD)/deb"

.PHONY: npm
npm: ## the npm packages in build/npm, for `npx bawn`
	@"$(TOP)/tools/npm-packages" "$(BUILD)/npm"

.PHONY: deps
deps: ## install what the build needs
	@"$(TOP)/tools/install-deps"

.PHONY: deps-test
deps-test: ## install what the build, the tests and the checks need
	@"$(TOP)/tools/install-deps" --test

.PHONY: clean
clean: ## remove build/
	rm -rf -- "$(BUILD)"

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' "$(firstword $(MAKEFILE_LIST))"
