# What is run on this repository. build, test, lint, e2e and soak need Go, git and a C compiler; interop and bench also Python 3.11,
# into whose virtual environment (.venv, ignored by git) they install pinned peers.

GO ?= go
PYTHON ?= python3
GOFUMPT = $(GO) run mvdan.cc/gofumpt@v0.12.0
STATICCHECK = $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2

.DEFAULT_GOAL = build
.PHONY: build test lint check e2e soak interop bench clean

build:
	@$(GO) build -o bin/pipe ./cmd/pipe

test:
	@$(GO) test -race -timeout 30m ./...

lint:
	@bad=$$(find . -name '*.go' -not -path './.*' -print0 | xargs -0 $(GOFUMPT) -l); \
		if [ -n "$$bad" ]; then echo "not gofumpt'ed:"; echo "$$bad"; exit 1; fi
	@$(GO) vet ./...
	@$(STATICCHECK) ./...

check: lint test

# The promises of the README, one by one, on a fresh clone of what is committed.
e2e:
	@sh e2e/points.sh

# Kills `pipe repro` at random moments and compares with a twin that was left alone.
SOAK ?= 200
soak: build
	@$(GO) run ./e2e/soak -pipe bin/pipe -kills $(SOAK)
	@PIPE_KILLS=$(SOAK) $(GO) test -count=1 -run 'TestKilledAtRandom$$' ./internal/cli

# Other engines read the tables.
interop: build .venv/ready
	@sh interop/run.sh .venv/bin/python bin/pipe

bench: build .venv/ready
	@$(GO) run ./bench -pipe bin/pipe -python .venv/bin/python -report bench/RESULTS.md

.venv/ready: interop/requirements.txt
	@$(PYTHON) -m venv .venv
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check -r interop/requirements.txt
	@touch $@

clean:
	@rm -rf bin .venv
