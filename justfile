# Every check that CI runs, by name. `just` alone lists them.

default:
    @just --list

# Everything CI runs
check: format lint test docs deny

format:
    cargo fmt --all --check

lint:
    cargo clippy --workspace --all-targets -- -D warnings

test:
    cargo test --workspace

docs:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --bin rejoin --no-deps
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

deny:
    cargo deny check bans licenses sources

# Measure Rejoin and the limit side by side
bench *options:
    cargo run --release -p rejoin-bench -- {{options}}

# Write docs/cli.md from the commands' help
help-pages:
    REJOIN_WRITE_DOCS=1 cargo test -p rejoin-cli --bin rejoin -- documents
