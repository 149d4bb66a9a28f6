//! The build script of all functions. Links release builds for Linux without unwind tables.
//!
//! A panic aborts the deployed process, so nothing unwinds the stack and the tables would be dead weight
//! (docs/internals/decisions/0019-small-programs.md).

#![allow(clippy::print_stdout, reason = "build scripts talk to Cargo over stdout")]

use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=../link.ld");
    let env_is = |name: &str, value: &str| env::var(name).is_ok_and(|actual| actual == value);
    if env_is("PROFILE", "release") && env_is("CARGO_CFG_TARGET_OS", "linux") {
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{}", fs::canonicalize("../link.ld")?.display());
    }
    Ok(())
}
