//! Building the engine: a workspace of its own, `infra/qdrant`, for reasons that its `Cargo.toml` gives.

use std::path::{Path, PathBuf};

use tokio::process::Command;
use tokio::sync::Mutex;

use super::Error;

/// Where its sources are. A local cloud is run where it was built.
const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../qdrant/Cargo.toml");

/// One build at a time: the clouds of one process share it.
static BUILDING: Mutex<()> = Mutex::const_new(());

/// The folder to build in, beside what else was built: `target/qdrant` for `target/debug/aptix`.
pub(super) fn target(executable: &Path) -> PathBuf {
    let target = executable.ancestors().nth(2).unwrap_or_else(|| Path::new("target"));
    target.join("qdrant")
}

/// The engine, if it was ever built.
pub(super) fn built(target: &Path) -> Option<PathBuf> {
    let executable = target.join("debug").join(format!("embedded-qdrant{}", std::env::consts::EXE_SUFFIX));
    executable.is_file().then_some(executable)
}

/// Has Cargo build it, which does nothing when it is up to date. Cargo's own words go to the terminal.
pub(super) async fn build(target: &Path) -> Result<(), Error> {
    let _alone = BUILDING.lock().await;
    if !Path::new(MANIFEST).is_file() {
        return Err(Error::Build(format!("its sources are not at {MANIFEST}")));
    }
    let mut command = cargo();
    command.args(["build", "--locked", "--manifest-path", MANIFEST, "--target-dir"]).arg(target);
    if built(target).is_some() {
        command.arg("--quiet");
    }
    let built =
        command.status().await.map_err(|error| Error::Build(format!("cargo does not run: {error}")))?;
    if built.success() { Ok(()) } else { Err(Error::Build(format!("cargo ended with {built}"))) }
}

/// Cargo, as it is started from a terminal. What it tells the programs that it runs (`cargo run`, `cargo test`) would make
/// build scripts believe that something changed, and minutes of building begin anew.
fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_of_a_package) {
            command.env_remove(name);
        }
    }
    command
}

fn is_of_a_package(variable: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE", "OUT_DIR"]
        .iter()
        .any(|told| variable.starts_with(told))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn nothing_of_the_package_that_runs_reaches_the_build_of_another() {
        let command = cargo();
        let removed: BTreeSet<_> =
            command.as_std().get_envs().filter(|(_, value)| value.is_none()).map(|(name, _)| name).collect();
        for told in ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME", "CARGO_PKG_VERSION_PRE"] {
            assert!(
                std::env::var_os(told).is_some() && removed.contains(std::ffi::OsStr::new(told)),
                "{told}"
            );
        }
        assert!(!removed.contains(std::ffi::OsStr::new("PATH")));
    }
}
