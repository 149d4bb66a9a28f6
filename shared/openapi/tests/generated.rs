//! Files that are generated from the contract.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

const COMMAND: &str = "WRITE_GENERATED=1 cargo test --locked -p openapi --test generated";

/// Requires the file to be current, or writes it anew with `WRITE_GENERATED=1`.
fn check(path: &str, expected: &str) {
    let file = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path);
    if std::env::var_os("WRITE_GENERATED").is_some() {
        return std::fs::write(&file, expected).unwrap();
    }
    let is_current = std::fs::read_to_string(&file).unwrap() == expected;
    assert!(is_current, "{path} is stale. Write it anew: {COMMAND}");
}

#[test]
fn openapi_file_matches_the_contract() {
    check("infra/openapi.yaml", &openapi::yaml().unwrap());
}
