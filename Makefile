# Every target builds with the same flags, which Package.swift sets. Other flags would build all dependencies again.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help build test test-browser test-firefox screens demo serve bench soak fuzz format lint docs pages clean
.PHONY: packages packages-test packages-browser packages-firefox packages-bench packages-soak packages-fuzz

SWIFT ?= swift
SWIFT_CODE := Sources Tests Examples Benchmarks Package.swift
# The apps that `make serve` serves: FILES="One.storekit Two.storekit". ARGS is appended to the program's arguments.
SAMPLES := $(filter-out %/Merchant.yaml,$(wildcard Examples/*/*.storekit Examples/*/*.yaml))
FILES ?= $(SAMPLES)
# The merchant's products: PRODUCTS="Products.yaml".
PRODUCTS ?= $(if $(filter $(SAMPLES),$(FILES)),$(wildcard Examples/*/Merchant.yaml))
ARGS ?=
# `make demo ONCE=1` stops the servers at the end, and `make demo WEB=1` shows the apps on pages in a browser.
ONCE ?=
WEB ?=
# How long `make soak` runs, in seconds. SEED repeats a run.
SECONDS ?= 600
SEED ?=

help: ## print this list
	@echo "make TARGET, where TARGET is one of:"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# How many tests run at once. Without a limit all tests begin together. On few cores each of them then waits for minutes,
# longer than the time limits of the servers that it uses.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= 5

# Tests that start many programs, one after the other, and how many of these tests run at once. Beside many others, each
# start takes so long that they would pass their minute.
STARTING := KillTests|[.]ProgramTests/
STARTING_WIDTH := 3

# Suites that only compute. They occupy Swift's threads, one for each core, and tests that use a server would wait for a
# thread at each step. So these suites run first, on their own.
COMPUTING := ^(ArchitectureTests|ContentPackagesTests|StoreReceiptsTests|StoreWireTests)[.]

# The pages of storefront, console and sample apps in a browser: the built cornerstore, and the samples beside it.
WITH_BROWSER = CORNERSTORE="$$($(SWIFT) build --show-bin-path)/cornerstore" scripts/in-memory scripts/with-browser
# Four run at once, each with a store and a browser of its own: half of their time is waiting.
BROWSER_TESTS = $(WITH_BROWSER) $(WITH_DATABASE) python3 -m pytest Tests/Browser --numprocesses 4 --dist loadgroup --no-loadscope-reorder

# The server API and the notifications are then tested with PostgreSQL as well.
test test-browser: WITH_DATABASE = scripts/with-postgresql
# No test kills PostgreSQL, so the server need not wait for the disk.
test test-browser: export CORNERSTORE_TEST_POSTGRESQL_OPTIONS ?= -c fsync=off -c full_page_writes=off

packages:
	@scripts/install-packages build

packages-test packages-browser:
	@scripts/install-packages build test browser

packages-firefox packages-bench packages-soak packages-fuzz: packages-%:
	@scripts/install-packages build $*

build: packages ## build everything, tests included
	$(SWIFT) build --build-tests

test: packages-test lint ## check the style and the links, then run all tests; starts a PostgreSQL and an S3 server for them
	scripts/in-memory scripts/failures-last $(SWIFT) test --parallel --disable-xctest --filter '$(COMPUTING)'
	scripts/in-memory scripts/failures-last scripts/with-s3 scripts/with-postgresql $(SWIFT) test --skip-build --parallel --disable-xctest --skip '$(STARTING)' --skip '$(COMPUTING)'
	SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$(STARTING_WIDTH) scripts/in-memory scripts/failures-last scripts/with-s3 scripts/with-postgresql $(SWIFT) test --skip-build --disable-xctest --filter '$(STARTING)'
	$(SWIFT) build --product cornerstore-soak
	scripts/in-memory scripts/with-s3 scripts/with-postgresql "$$($(SWIFT) build --show-bin-path)/cornerstore-soak" cluster 60
	$(BROWSER_TESTS)

test-browser: packages-browser ## test the pages of storefront, console and sample apps in a browser, and the server API on both databases; ARGS adds options of pytest
	$(SWIFT) build --product monkey-credits
	$(SWIFT) build --product photo-filters
	$(SWIFT) build --product book-chapters
	$(SWIFT) build --product server-books
	$(SWIFT) build --product cross-promotion
	$(SWIFT) build --product magazine
	$(SWIFT) build --product cornerstore
	$(BROWSER_TESTS) $(ARGS)

test-firefox: packages-firefox ## test the journeys through the console in Firefox ESR; ARGS adds options of pytest
	$(SWIFT) build --product cornerstore
	$(WITH_BROWSER) --firefox python3 -m pytest Tests/Browser/test_console_journeys.py $(ARGS)

screens: packages-browser ## take the documentation's pictures of the console and of an app again
	$(SWIFT) build --product monkey-credits
	$(SWIFT) build --product cornerstore
	$(WITH_BROWSER) python3 Tests/Browser/screens.py

demo: packages ## show the sample apps, a store and a merchant at work; ONCE=1 stops at the end, WEB=1 shows pages
	$(SWIFT) build --product monkey-credits
	$(SWIFT) build --product photo-filters
	$(SWIFT) build --product book-chapters
	$(SWIFT) build --product server-books
	$(SWIFT) build --product cross-promotion
	$(SWIFT) build --product magazine
	$(SWIFT) build --product cornerstore
	"$$($(SWIFT) build --show-bin-path)/cornerstore" demo $(if $(filter-out 0,$(ONCE)),--once) $(if $(filter-out 0,$(WEB)),--web) $(ARGS)

serve: packages ## start the store and its merchant; FILES="App.storekit …" serves other apps than the samples, ARGS adds options
	$(SWIFT) build --product cornerstore
	"$$($(SWIFT) build --show-bin-path)/cornerstore" serve $(FILES) $(addprefix --merchant-products ,$(PRODUCTS)) $(ARGS)

bench: packages-bench ## measure a release build; the last lines are NAME VALUE GOAL ok|short
	$(SWIFT) build --configuration release --product cornerstore
	$(SWIFT) build --configuration release --product cornerstore-bench
	scripts/with-postgresql "$$($(SWIFT) build --configuration release --show-bin-path)/cornerstore-bench" $(firstword $(FILES)) $(ARGS)

soak: packages-soak ## live 10,000 subscriptions on each database, send 10,000 notifications to a failing server, crash a PostgreSQL with a standby (as root also its machine), then kill the processes of one store, and apps, stores and merchants for SECONDS=600, and report lost or doubled purchases; SEED repeats a run
	$(SWIFT) build --build-tests
	CORNERSTORE_TEST_LIVES=10000 CORNERSTORE_TEST_NOTIFICATIONS=10000 scripts/in-memory scripts/failures-last scripts/with-postgresql $(SWIFT) test --skip-build --parallel --disable-xctest --filter 'SubscriptionLifeTests|FailingReceiverTests'
	$(SWIFT) build --product kill-test-app
	$(SWIFT) build --product kill-test-merchant
	$(SWIFT) build --product cornerstore
	$(SWIFT) build --product cornerstore-soak
	scripts/with-s3 "$$($(SWIFT) build --show-bin-path)/cornerstore-soak" failover
	CORNERSTORE="$$($(SWIFT) build --show-bin-path)/cornerstore" scripts/with-postgresql scripts/cause-every-notification --check --postgresql
	scripts/with-s3 scripts/with-postgresql "$$($(SWIFT) build --show-bin-path)/cornerstore-soak" cluster 120 $(SEED)
	scripts/with-postgresql "$$($(SWIFT) build --show-bin-path)/cornerstore-soak" $(SECONDS) $(SEED)

fuzz: packages-fuzz ## test the merchant's server against its OpenAPI document with schemathesis; ARGS adds options
	$(SWIFT) build --product cornerstore
	CORNERSTORE="$$($(SWIFT) build --show-bin-path)/cornerstore" scripts/fuzz-merchant $(ARGS)

format: ## format all Swift code
	$(SWIFT) format --in-place --parallel --recursive $(SWIFT_CODE)

lint: ## report unformatted code, comments of more than 120 columns and dead links
	$(SWIFT) format lint --strict --parallel --recursive $(SWIFT_CODE)
	scripts/check-comments
	scripts/check-links

pages: packages ## write the pages of Documentation that are generated from the code
	CORNERSTORE_WRITE_PAGES=1 $(SWIFT) test --disable-xctest --filter StoreKitCoverageTests

docs: pages ## write the generated pages, check the links and build the libraries' reference in .build/documentation
	scripts/check-links
	scripts/build-documentation

clean: ## remove build products; keep stores' data and downloaded dependencies
	$(SWIFT) package clean
	rm -rf .build/documentation
