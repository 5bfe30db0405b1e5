# Every check that CI runs, by name. `just` alone lists them.

default:
    @just --list

# Everything CI runs
check: format lint test features package coverage counts docs deny

format:
    cargo fmt --all --check
    git ls-files 'crates/rejoin-cli/src/commands/*.rs' | xargs rustfmt --edition 2024 --check

lint:
    cargo clippy --workspace --all-targets -- -D warnings

test:
    cargo test --workspace

# Each feature of the library alone, none, and the default ones; and how many crates their users compile
features:
    .ci/features

# The crates that others depend on, packed; with --verify, built from what was packed
package *options:
    .ci/package {{options}}

# How much of the store, of retention and of key derivation the tests reach; with --missed, which lines they do not
coverage *options:
    .ci/coverage {{options}}

docs:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --bin rejoin --no-deps
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

deny:
    cargo deny check bans licenses sources

# Install the command, optimized as it is measured
install:
    cargo install --profile dist --path crates/rejoin-cli

# Measure Rejoin and the limit side by side
bench *options:
    cargo run --profile dist -p rejoin-bench -- {{options}}

# Count the instructions and syncs of common commands and compare them with bench/counts.md; --write replaces it
counts *options:
    .ci/counts {{options}}

# Write docs/cli.md from the commands' help
help-pages:
    REJOIN_WRITE_DOCS=1 cargo test -p rejoin-cli --bin rejoin -- documents

# Write docs/demo.svg, the picture in the README, from the commands in docs/demo.sh
demo:
    REJOIN_WRITE_DOCS=1 cargo test -p rejoin-cli --test it screens::picture

# The long versions of the tests that inject faults: every call of every command, not a sample. docs/proofs.md has the figures
prove:
    REJOIN_PROVE=1 cargo test -p rejoin-cli --test it -- --nocapture --test-threads=2 sweep:: faults:: attacks::faults cache::
    REJOIN_PROVE=1 cargo test -p rejoin --all-features --test it -- --nocapture postgres::killed
