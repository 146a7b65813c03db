# make typescript  bin/mgmt-ts, which runs programs in TypeScript for mgmt, from a module of its own
# make web     daemon/web/dist, the page that the program has in it, from the sources in web
# make run     builds mgmt and shows it at work in a temporary folder
# make test    the tests, from a fresh checkout; its last lines name the programs that a test has missed
# make quick   within three minutes: lint and tests of the packages that you have changed, and of those that import them
# make build   bin/mgmt, one static file
# make docker  bin/mgmt-docker: mgmt with the kinds of docker, from a module of its own
# make check   all that CI runs: lint, and the tests with those that need minutes: races, kills, booted machines
# make integration  the tests on machines that they boot, as root on Debian; a part of make check
# make lint    gofmt, go vet, go fix and staticcheck, which all print nothing
# make race    every test under the race detector
# make bench   the table of speed and memory; BENCH='-markdown docs/benchmarks.md' keeps it
# make bench AGAINST=COMMIT PAIRS=9   medians of pairs with another commit; BENCH='ROW' for some rows
# make soak    ten minutes of drift and new graphs, at whose end nothing has grown; SOAK='-for 1h'
# make packages  the deb and the rpm in bin/package
# make release  every part of a release in bin/release: programs, packages, checksums, a repository
# make docs    writes docs/reference from the types and verbs

GO      ?= go
VERSION = $(or $(shell packaging/version),$(error the file internal/version/VERSION gives no version))
FLAGS  := $(shell grep -v '^\#' packaging/buildflags)
LDFLAGS = -s -w -X github.com/reactivegraph/mgmt/cmd/internal/cli.buildVersion=$(VERSION)

# Puppet, with the types that its sample manifests use.
PUPPET := puppet $(addprefix puppet-module-puppetlabs-,cron-core host-core mount-core)

# The modules whose catalogs are read in CI.
MODULES := $(addprefix puppet-module-,$(addprefix puppetlabs-,apache apt haproxy mongodb mysql ntp postgresql rabbitmq rsync tftp xinetd) \
	$(addprefix camptocamp-,kmod openssl postfix systemd) aboe-chrony antonlindstrom-powerdns arioch-redis asciiduck-sssd \
	cristifalcas-etcd pcfens-filebeat saz-memcached saz-ssh theforeman-dns voxpupuli-collectd voxpupuli-corosync)

# What boots a machine for a test.
MACHINE := dpkg-dev mmdebstrap systemd-container

.PHONY: help build docker typescript web run quick test integration race lint bench soak packages release docs check tools check-tools clean

build:
	CGO_ENABLED=0 $(GO) build $(FLAGS) -ldflags '$(LDFLAGS)' -o bin/mgmt ./cmd/mgmt

docker:
	CGO_ENABLED=0 $(GO) -C docker build $(FLAGS) -ldflags '$(LDFLAGS)' -o ../bin/mgmt-docker ./mgmt-docker

# The page, from its sources in web.
web:
	$(GO) -C web run .

typescript:
	CGO_ENABLED=0 $(GO) -C typescript build -trimpath -ldflags '-s -w' -o ../bin/mgmt-ts ./mgmt-ts

# Without the flags of a release, so that the tests use again what was compiled.
run:
	CGO_ENABLED=0 $(GO) build -ldflags '-X github.com/reactivegraph/mgmt/cmd/internal/cli.buildVersion=$(VERSION)' -o bin/mgmt ./cmd/mgmt
	@.ci/demo bin/mgmt

quick:
	@.ci/quick

test: tools
	@.ci/test short

check: lint check-tools
	@.ci/test full

integration: check-tools
	CGO_ENABLED=0 $(GO) test -v -count=1 -timeout 60m ./integration/hosts ./integration/machines

race:
	$(GO) test -timeout 60m -race ./...

# Each of these prints nothing where all is well.
lint:
	@out=$$(gofmt -l .); test -z "$$out" || { echo "gofmt: $$out"; exit 1; }
	@$(GO) vet ./...
	@$(GO) vet -tags small ./...
	@out=$$($(GO) fix -diff ./... 2>&1); test -z "$$out" || { echo "$$out"; exit 1; }
	@$(GO) tool staticcheck ./...
	@$(GO) run ./integration/portable
	@$(GO) -C docker vet ./...
	@out=$$($(GO) -C docker fix -diff ./... 2>&1); test -z "$$out" || { echo "$$out"; exit 1; }
	@staticcheck=$$($(GO) tool -n staticcheck) && cd docker && "$$staticcheck" ./...
	@$(GO) -C typescript vet ./...
	@out=$$($(GO) -C typescript fix -diff ./... 2>&1); test -z "$$out" || { echo "$$out"; exit 1; }
	@staticcheck=$$($(GO) tool -n staticcheck) && cd typescript && "$$staticcheck" ./...
	@$(GO) -C web vet ./...
	@out=$$($(GO) -C web fix -diff ./... 2>&1); test -z "$$out" || { echo "$$out"; exit 1; }
	@staticcheck=$$($(GO) tool -n staticcheck) && cd web && "$$staticcheck" ./...

# The table of what things cost, as ratios to a floor measured in the same run.
# To keep it: make bench BENCH='-markdown docs/benchmarks.md'
# AGAINST names a commit to compare with, PAIRS how often each row is run of both.
PAIRS ?= 9
bench: build typescript
ifeq ($(AGAINST),)
	$(GO) run ./integration/bench $(BENCH)
else
	@tree=$$(mktemp -d) && trap 'git worktree remove --force "$$tree"' EXIT && \
	git worktree add --quiet --detach "$$tree" "$(AGAINST)" && \
	$(MAKE) -C "$$tree" build && $(GO) -C "$$tree" build -o bin/bench ./integration/bench && \
	$(GO) run ./integration/bench -pairs $(PAIRS) -against "$$tree" $(BENCH)
endif

soak:
	$(GO) run ./integration/soak $(SOAK)

packages:
	@packaging/build bin/package $(VERSION)

# Signed where MGMT_RELEASE_KEY names a key of gpg.
release:
	@packaging/release bin/release $(VERSION)

# The reference, from the types, the verbs and their flags.
docs:
	$(GO) generate ./cmd
	$(GO) test ./integration -run "TestDeviationsPageIsFresh|TestFindingsPage" -update
	$(GO) -C docker test . -run TestReferenceIsFresh -update

# What make test needs beside Go. It is installed where that is allowed; a test that misses it is skipped and says so.
tools:
	@$(GO) mod download
	@$(GO) -C docker mod download
	@$(GO) -C typescript mod download
	@$(GO) -C web mod download
	@command -v python3 >/dev/null || .ci/install python3 || test "$$CI" != true
	@{ command -v dbus-daemon && command -v gpg; } >/dev/null || .ci/install dbus-daemon gnupg || test "$$CI" != true

# What make check needs too: a compiler, other implementations, service managers, an editor, and what boots machines. In CI nothing may be missing.
check-tools: tools
	@$(GO) -C engine/world/etcd/testdata/server mod download
	@test -d /usr/share/puppet/modules/mount_core && test -d /usr/share/puppet/modules/apache || .ci/install $(PUPPET) $(MODULES) || test "$$CI" != true
	@command -v dot >/dev/null || .ci/install graphviz || test "$$CI" != true
	@{ command -v gcc && command -v dpkg-source; } >/dev/null || .ci/install dpkg-dev gcc libc6-dev || test "$$CI" != true
	@resources/account/backends/testdata/busybox.sh >/dev/null || test "$$CI" != true
	@{ command -v runsvdir && command -v rc-service && command -v insserv; } >/dev/null || .ci/install runit openrc insserv || test "$$CI" != true
	@command -v tsc >/dev/null || .ci/tsc || test "$$CI" != true
	@command -v etcd >/dev/null || .ci/install etcd-server || test "$$CI" != true
	@{ command -v node && command -v git && command -v openssl && command -v psql && ls /usr/lib/postgresql/*/bin/postgres; } >/dev/null || .ci/install nodejs git openssl postgresql postgresql-client || test "$$CI" != true
	@{ command -v protoc && /usr/bin/python3 -c 'import grpc'; } >/dev/null || .ci/install protobuf-compiler libprotobuf-dev python3-grpcio || test "$$CI" != true
	@command -v dockerd >/dev/null || .ci/install docker.io || test "$$CI" != true
	@{ command -v rsync && command -v vim; } >/dev/null || .ci/install rsync vim || test "$$CI" != true
	@test -f "$$(npm root -g)/axe-core/axe.min.js" || .ci/axe || test "$$CI" != true
	@command -v chromium >/dev/null || .ci/install chromium || test "$$CI" != true
	@command -v tmux >/dev/null || .ci/install tmux || test "$$CI" != true
	@command -v nvim >/dev/null || .ci/install neovim || test "$$CI" != true
	@{ command -v sshd && command -v ssh-keygen; } >/dev/null || .ci/install openssh-server openssh-client || test "$$CI" != true
	@{ command -v systemd-nspawn && command -v mmdebstrap && command -v dpkg-scanpackages; } >/dev/null || .ci/install $(MACHINE) || test "$$CI" != true

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

clean:
	rm -rf bin
