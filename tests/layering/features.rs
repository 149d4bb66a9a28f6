//! Features of libraries: the same for every command, so that `cargo run` and `cargo test` share what they compile.

use std::{collections::BTreeSet, process::Command};

/// Returns the libraries of some packages, each with its version and features.
fn libraries(selection: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "--prefix", "none", "--format", "{p} {f}"])
        .args(selection)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .output()
        .expect("cargo tree runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}

#[test]
fn program_and_tests_build_the_same_libraries() {
    let tests = libraries(&["--workspace"]);
    for program in [&["--package", "aptix"][..], &["--workspace"]] {
        let built = libraries(&[program, &["--edges", "normal,build"]].concat());
        let twice: Vec<_> = built.difference(&tests).collect();
        assert!(built.len() > 400, "only {} libraries were found", built.len());
        assert!(
            twice.is_empty(),
            "these would be compiled twice; give them the features of the tests in aptix/Cargo.toml: {twice:#?}"
        );
    }
}
