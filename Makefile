# Every target builds with the same flags (they stand in Package.swift): other flags would build all dependencies again.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help build test demo serve bench soak fuzz format lint docs pages clean
.PHONY: packages packages-test packages-bench packages-soak packages-fuzz

SWIFT ?= swift
SWIFT_CODE := Sources Tests Examples Benchmarks Package.swift
# What `make serve` serves: FILES="One.storekit Two.storekit"; ARGS goes to the program as it stands.
SAMPLES := $(filter-out %/Merchant.yaml,$(wildcard Examples/*/*.storekit Examples/*/*.yaml))
FILES ?= $(SAMPLES)
# What the merchant beside it sells: PRODUCTS="Products.yaml".
PRODUCTS ?= $(if $(filter $(SAMPLES),$(FILES)),$(wildcard Examples/*/Merchant.yaml))
ARGS ?=
# `make demo ONCE=1` ends by itself.
ONCE ?=
# How long `make soak` goes on; SEED repeats a run.
SECONDS ?= 600
SEED ?=

help: ## this list
	@echo "make TARGET, where TARGET is one of:"
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Tests that run at once. Without a bound all begin together, and on few cores each then waits for minutes, longer than
# what it speaks to is patient.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= 8

# Kill tests that run at once: each has several programs of its own at work, and half of its time waits for them to start.
KILL_WIDTH := 3

# Suites that only compute. They keep Swift's threads, one for each core, and those that speak to a store would wait for them
# at each step: so they run first, for themselves.
COMPUTING := ^(ArchitectureTests|ContentPackagesTests|StoreReceiptsTests|StoreWireTests)[.]

# The tests stop no PostgreSQL in the middle of something, so it need not wait for the disk.
test: export CORNERSTORE_TEST_POSTGRESQL_OPTIONS ?= -c fsync=off -c full_page_writes=off

packages:
	@scripts/install-packages build

packages-test packages-bench packages-soak packages-fuzz: packages-%:
	@scripts/install-packages build $*

build: packages ## build everything, tests included
	$(SWIFT) build --build-tests

test: packages-test lint ## check the style and the links, then run all tests on SQLite, and a PostgreSQL and an S3 server of their own
	scripts/in-memory scripts/failures-last $(SWIFT) test --parallel --disable-xctest --filter '$(COMPUTING)'
	scripts/in-memory scripts/failures-last scripts/with-s3 scripts/with-postgresql $(SWIFT) test --skip-build --parallel --disable-xctest --skip KillTests --skip '$(COMPUTING)'
	SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$(KILL_WIDTH) scripts/in-memory scripts/failures-last scripts/with-s3 scripts/with-postgresql $(SWIFT) test --skip-build --disable-xctest --filter KillTests

demo: packages ## watch apps, a store and a merchant on this machine; ONCE=1 ends by itself
	$(SWIFT) build --product monkey-credits
	$(SWIFT) build --product photo-filters
	$(SWIFT) build --product book-chapters
	$(SWIFT) build --product server-books
	$(SWIFT) build --product cornerstore
	"$$($(SWIFT) build --show-bin-path)/cornerstore" demo $(if $(filter-out 0,$(ONCE)),--once) $(ARGS)

serve: packages ## start the store and its merchant; FILES="App.storekit …" for other apps than the samples, ARGS for options
	$(SWIFT) build --product cornerstore
	"$$($(SWIFT) build --show-bin-path)/cornerstore" serve $(FILES) $(addprefix --merchant-products ,$(PRODUCTS)) $(ARGS)

bench: packages-bench ## measure a release build; the last lines are NAME VALUE GOAL ok|short
	$(SWIFT) build --configuration release --product cornerstore
	$(SWIFT) build --configuration release --product cornerstore-bench
	scripts/with-postgresql "$$($(SWIFT) build --configuration release --show-bin-path)/cornerstore-bench" $(firstword $(FILES)) $(ARGS)

soak: packages-soak ## kill apps, stores and merchants for SECONDS=600, and say what was lost or doubled; SEED repeats a run
	$(SWIFT) build --product kill-test-app
	$(SWIFT) build --product kill-test-merchant
	$(SWIFT) build --product cornerstore
	$(SWIFT) build --product cornerstore-soak
	scripts/with-postgresql "$$($(SWIFT) build --show-bin-path)/cornerstore-soak" $(SECONDS) $(SEED)

fuzz: packages-fuzz ## have schemathesis try the merchant's server by its OpenAPI document; ARGS go to it
	$(SWIFT) build --product cornerstore
	CORNERSTORE="$$($(SWIFT) build --show-bin-path)/cornerstore" scripts/fuzz-merchant $(ARGS)

format: ## put all Swift code into the house's format
	$(SWIFT) format --in-place --parallel --recursive $(SWIFT_CODE)

lint: ## report code that is not so formatted, comments of more than 120 columns and dead links
	$(SWIFT) format lint --strict --parallel --recursive $(SWIFT_CODE)
	scripts/check-comments
	scripts/check-links

pages: packages ## write the pages of Documentation that are made from the code
	CORNERSTORE_WRITE_PAGES=1 $(SWIFT) test --disable-xctest --filter StoreKitCoverageTests

docs: pages ## make the pages, check the links and build the reference of the library products into .build/documentation
	scripts/check-links
	scripts/build-documentation

clean: ## remove what was built; stores' data and downloaded dependencies stay
	$(SWIFT) package clean
	rm -rf .build/documentation
