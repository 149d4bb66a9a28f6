//! Builds the engine, which is a separate workspace, `infra/qdrant`, for the reasons given in its `Cargo.toml`.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;
use tokio::sync::Mutex;

use super::build_progress::BuildProgress;
use super::error::Error;

/// Manifest of the engine's sources. A local cloud runs on the machine that built it.
const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../qdrant/Cargo.toml");

/// Lines of Cargo's output in the error of a failed build, at most.
const MAX_OUTPUT_LINES: usize = 30;

/// Allows one build at a time: all clouds of a process share it.
static BUILDING: Mutex<()> = Mutex::const_new(());

/// Returns the target folder that an executable was built in, which the engine shares: `target` for
/// `target/debug/aptix`. Dependencies that both use are then compiled once.
pub(super) fn target_dir(executable: &Path) -> PathBuf {
    executable.ancestors().nth(2).unwrap_or_else(|| Path::new("target")).to_owned()
}

/// Returns the engine's executable if it has been built.
pub(super) fn executable(target_dir: &Path) -> Option<PathBuf> {
    let executable =
        target_dir.join("debug").join(format!("embedded-qdrant{}", std::env::consts::EXE_SUFFIX));
    executable.is_file().then_some(executable)
}

/// Builds the engine with Cargo, which does nothing if it is up to date. Progress goes to standard error.
pub(super) async fn build(target_dir: &Path) -> Result<(), Error> {
    let _guard = BUILDING.lock().await;
    if !Path::new(MANIFEST).is_file() {
        return Err(Error::Build(format!("there are no sources at {MANIFEST}")));
    }
    let mut command = cargo();
    command.args(["build", "--locked", "--manifest-path", MANIFEST, "--target-dir"]).arg(target_dir);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
    let cant_run = |error: std::io::Error| Error::Build(format!("can't run cargo: {error}"));
    let mut child = command.spawn().map_err(cant_run)?;
    let mut progress = BuildProgress::start(executable(target_dir).is_none());
    let mut output = Vec::new();
    if let Some(stderr) = child.stderr.take() {
        let mut lines = BufReader::new(stderr).lines();
        while let Some(line) = progress.next_line(&mut lines).await {
            output.push(line);
        }
    }
    let status = child.wait().await.map_err(cant_run)?;
    progress.finish();
    if status.success() {
        return Ok(());
    }
    let tail = output.len().saturating_sub(MAX_OUTPUT_LINES);
    let tail = output.split_off(tail).join("\n");
    Err(Error::Build(format!("cargo failed with {status}. Its last lines:\n{tail}")))
}

/// Returns a Cargo command without the variables that `cargo run` and `cargo test` set for a package. Those would
/// make build scripts rerun and cost minutes.
fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_package_variable) {
            command.env_remove(name);
        }
    }
    command
}

fn is_package_variable(variable: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE", "OUT_DIR"]
        .iter()
        .any(|prefix| variable.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn package_variables_do_not_reach_engine_build() {
        let command = cargo();
        let removed: BTreeSet<_> =
            command.as_std().get_envs().filter(|(_, value)| value.is_none()).map(|(name, _)| name).collect();
        for variable in ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME", "CARGO_PKG_VERSION_PRE"] {
            assert!(
                std::env::var_os(variable).is_some() && removed.contains(std::ffi::OsStr::new(variable)),
                "{variable}"
            );
        }
        assert!(!removed.contains(std::ffi::OsStr::new("PATH")));
    }
}
