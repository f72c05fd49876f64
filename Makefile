# Everything here runs as a user's build does: each module alone, without go.work.
export GOWORK := off

# Servers that the tests start lie in folders that the PATH of a plain user may lack.
export PATH := $(PATH):/usr/local/sbin:/usr/sbin:/sbin

# Tools that the checks need, pinned. They are built once for each version of Go,
# into the user's cache.
STATICCHECK_VERSION := v0.8.2
ERRCHECK_VERSION    := v1.30.0
GOVULNCHECK_VERSION := v1.8.0
CACHE       := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/weft
TOOLS       := $(CACHE)/bin/$(shell go env GOVERSION)
STATICCHECK := $(TOOLS)/staticcheck-$(STATICCHECK_VERSION)
ERRCHECK    := $(TOOLS)/errcheck-$(ERRCHECK_VERSION)
GOVULNCHECK := $(TOOLS)/govulncheck-$(GOVULNCHECK_VERSION)

# What takes long lies below test/, what needs servers below registry/; only
# 'make test' runs these, and the demonstration.
QUICK := $(filter-out test/% registry/% plugin/prometheus examples/demo examples/etcd,$(shell scripts/modules.sh))

FUZZTIME       ?= 5m# for each target of 'make fuzz'
FUZZTIME_SHORT ?= 3s# for each target of 'make fuzz-short'

.PHONY: all
all: build vet quick ## build, vet and test every module, without what takes long (the default)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build every package of every module
	@scripts/each.sh go build -ldflags=-w -o /dev/null ./...

.PHONY: vet
vet: ## run go vet
	@scripts/each.sh go vet ./...

.PHONY: cross
cross: cross-vet test-386 ## vet for Windows, macOS, ARM and 32 bits, and run the root's tests with 32 bits

.PHONY: cross-vet
cross-vet:
	@scripts/cross.sh

.PHONY: test-386
test-386:
	@scripts/test-386.sh

.PHONY: quick
quick: ## run the tests that take seconds, without the race detector
	@MODULES="$(QUICK)" scripts/each.sh go test -vet=off ./...

.PHONY: test
test: need ## run all that continuous integration runs
	@scripts/lanes.sh 'programs race-beside test-386 compat etcd-newest' \
		'fmt-check tidy-check build vet lint purego simulate release-check' 'cross-vet fuzz-short' -- race-alone

.PHONY: race
race: need programs ## run every test with the race detector, in a random order
	@scripts/test.sh

.PHONY: race-beside
race-beside:
	@scripts/test.sh beside

.PHONY: race-alone
race-alone:
	@scripts/test.sh alone

# How many plans of faults 'make simulate' runs, and which is the first.
SEEDS ?= 3000
FIRST ?= 1

.PHONY: simulate
simulate: ## simulate SEEDS plans of faults, from FIRST on, on a clock of their own
	@cd test/simulation && go test -run 'TestSeeds$$|TestHostile' -timeout 0 -seeds=$(SEEDS) -first=$(FIRST) .

# How long each attack of 'make adversary' lasts, and the load of 'make soak'.
DURATION ?= 10s
SOAK     ?= 30m

.PHONY: adversary
adversary: ## attack servers and clients for DURATION each (10s), and write the figures into docs/RELIABILITY.md
	@cd test/adversary && go test -v -timeout 0 -duration=$(DURATION) -document=$(CURDIR)/docs/RELIABILITY.md .

.PHONY: soak
soak: ## run a mixed load for SOAK (30m), RATE calls a second, fail when memory, descriptors or goroutines grow, and write the figures into docs/RELIABILITY.md
	@cd test/adversary && go run ./soak -for $(SOAK) -every 1m $(RATE:%=-rate %) -document $(CURDIR)/docs/RELIABILITY.md

.PHONY: purego
purego: ## run the tests of the codecs without unsafe
	@GOWORK=off go test -tags purego ./codec/...
	@cd generate && GOWORK=off go test -tags purego ./internal/...

.PHONY: compat
compat: ## run the compatibility tests that are written in Python
	@scripts/python.sh

.PHONY: etcd-newest
etcd-newest: ## run the tests of registry/etcd with the etcd of 'weft up', which is newer than Debian's
	@scripts/etcd-newest.sh

.PHONY: test-long
test-long: need ## run the tests that take too long for 'make test': Thrift for C++ and Java, gRPC for Java, one port over TLS with a thousand clients, the collector of OpenTelemetry, and every attack for a minute (over an hour)
	@scripts/python.sh long
	@cd test/oneport && go test -v -run 'TestOnePortTLS$$' -timeout 30m -tls=5000 .
	@cd plugin/otel/testdata/collector && go test -race -timeout 30m ./...
	@cd test/adversary && go test -v -timeout 0 -duration=1m .

.PHONY: release-check
release-check: need ## make a release in a temporary clone, and get every module from it
	@scripts/release.sh v0.0.1-check

.PHONY: fuzz
fuzz: ## fuzz every target for FUZZTIME each (5m)
	@scripts/fuzz.sh $(FUZZTIME)

.PHONY: fuzz-short
fuzz-short: ## fuzz every target for FUZZTIME_SHORT each (3s)
	@scripts/fuzz.sh $(FUZZTIME_SHORT)

.PHONY: demo
demo: ## run the demonstration
	@scripts/demo.sh

.PHONY: chaos
chaos: registries ## stop, kill, freeze and wipe processes (3 min), then make overload
	@cd test/chaos && go test -count=1 -v -timeout 30m .
	@$(MAKE) --no-print-directory overload

.PHONY: overload
overload: ## show what servers do under overload (7 min; SECONDS=30 for each load), and write the figures into docs/RELIABILITY.md
	@cd test/chaos && go run ./overload $(SECONDS:%=-seconds %) $(if $(WITH),-wire $(WITH),-document $(CURDIR)/docs/RELIABILITY.md)

# What narrows a comparison, such as make bench PEERS=weft,grpc-go CALLERS=100,1000.
BENCH = $(PEERS:%=-peers=%) $(CODECS:%=-codecs=%) $(WORKLOADS:%=-workloads=%) $(CALLERS:%=-callers=%) \
	$(ROUNDS:%=-rounds=%) $(SECONDS:%=-seconds=%) $(CALLS:%=-calls=%)

.PHONY: bench
bench: ## compare with other RPC systems (10 min; with PLAN=full 3 h)
	@scripts/bench.sh $(PLAN:%=-plan=%) $(WITH:%=-with=%) $(BENCH)

.PHONY: bench-core
bench-core: ## measure the call path on its own (10 min)
	@cd bench && go run ./compare -plan=core $(BENCH)

.PHONY: test-peers
test-peers: ## build and try the peers that are written in Java and C++
	@scripts/test-peers.sh

.PHONY: registries
registries: ## install the servers of registries, for the tests
	@scripts/registries.sh

.PHONY: results
results: ## measure what the documents show, into bench/results (35 min; ONLY=doors: 15 min)
	@scripts/results.sh $(ONLY)

.PHONY: figures
figures: ## write the figures of bench/results into the documents
	@cd bench && go run ./report

.PHONY: cover
cover: ## measure what the tests of the root module cover, into coverage.out
	@go test -coverpkg=./... -coverprofile=coverage.out ./...
	@go tool cover -func=coverage.out | tail -n 1

.PHONY: lint
lint: $(STATICCHECK) $(ERRCHECK) ## run staticcheck, and look for errors that are not handled
	@scripts/each.sh $(STATICCHECK) ./...
	@scripts/errcheck.sh $(ERRCHECK)

.PHONY: vuln
vuln: $(GOVULNCHECK) ## look for known vulnerabilities (needs vuln.go.dev)
	@scripts/each.sh $(GOVULNCHECK) ./...

.PHONY: fmt
fmt: ## format every Go file
	@gofmt -l -w .

.PHONY: fmt-check
fmt-check: ## fail when a Go file is not formatted
	@files=$$(gofmt -l .) || exit 1; [ -z "$$files" ] || { printf "Not formatted; run 'make fmt':\n%s\n" "$$files"; exit 1; }

.PHONY: tidy
tidy: workspace ## bring go.mod, go.sum and go.work up to date
	@scripts/each.sh go mod tidy

.PHONY: tidy-check
tidy-check: ## fail when go.mod or go.sum is out of date
	@scripts/each.sh go mod tidy -diff

.PHONY: workspace
workspace: ## list every module in go.work
	@scripts/workspace.sh

.PHONY: clean
clean: ## remove what the targets above have written, and their tools
	@rm -rf coverage.out $(CACHE)

.PHONY: need
need:
	@scripts/need.sh gcc git ca-certificates

# What the tests start besides. What cannot be installed does not keep the rest from it.
.PHONY: programs
programs:
	@scripts/registries.sh; one=$$?; scripts/need.sh python3 ip prometheus thrift node npm chromium zsh fish bash-completion; other=$$?; \
		[ $$one -gt $$other ] || exit $$other; exit $$one

$(STATICCHECK):
	@mkdir -p $(@D)
	@GOBIN=$(@D) scripts/retry.sh go install honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK_VERSION)
	@mv $(@D)/staticcheck $@

$(ERRCHECK):
	@mkdir -p $(@D)
	@GOBIN=$(@D) scripts/retry.sh go install github.com/kisielk/errcheck@$(ERRCHECK_VERSION)
	@mv $(@D)/errcheck $@

$(GOVULNCHECK):
	@mkdir -p $(@D)
	@GOBIN=$(@D) scripts/retry.sh go install golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION)
	@mv $(@D)/govulncheck $@
