//! How the functions are linked for a deployment: the build script of each.
//!
//! A panic ends the process there, so nothing unwinds a stack, and the tables for it are left out of the program
//! (docs/decisions/0019-small-programs.md).

#![allow(clippy::print_stdout, reason = "a build script speaks to Cargo so")]

use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=../link.ld");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    if is("PROFILE", "release") && is("CARGO_CFG_TARGET_OS", "linux") {
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{}", fs::canonicalize("../link.ld")?.display());
    }
    Ok(())
}
