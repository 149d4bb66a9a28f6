//! Builds a program of the separate workspace `infra/qdrant`. Its `Cargo.toml` says why it is separate.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;
use tokio::sync::Mutex;

use super::build_progress::BuildProgress;
use super::{Error, Package};

/// Lines of Cargo's output in the error of a failed build, at most.
const MAX_OUTPUT_LINES: usize = 30;
/// Folder that Cargo creates beside the programs that it builds.
const CARGO_FOLDER: &str = ".fingerprint";

/// The programs that were built. All clouds of a process share one build.
static BUILT: Mutex<Vec<Checkout>> = Mutex::const_new(Vec::new());

/// A checkout with a program's sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Checkout {
    package: &'static Package,
    /// Manifest of the workspace.
    manifest: PathBuf,
    /// Folder in which the program is built.
    target_dir: PathBuf,
    is_running: bool,
}

impl Checkout {
    /// Returns the checkout with this manifest, if it exists.
    ///
    /// A running program that Cargo built shares its target folder, `target` for `target/debug/aptix`: dependencies that
    /// both use are then compiled once. For any other program, such as an installed one, it is the checkout's.
    pub(super) fn of(package: &'static Package, manifest: &Path, executable: &Path) -> Option<Self> {
        let folder = executable.parent()?;
        let (target_dir, is_running) = match folder.parent() {
            Some(target_dir) if folder.join(CARGO_FOLDER).is_dir() => (target_dir.to_owned(), true),
            _ => (manifest.canonicalize().ok()?.ancestors().nth(3)?.join("target"), false),
        };
        manifest.is_file().then(|| Self { package, manifest: manifest.to_owned(), target_dir, is_running })
    }

    /// Returns true if Cargo built the running program.
    pub(super) fn is_running(&self) -> bool {
        self.is_running
    }

    /// Returns the folder in which the program is built.
    #[cfg(test)]
    pub(super) fn target_dir(&self) -> &Path {
        &self.target_dir
    }

    /// Returns the program if it has been built.
    pub(super) fn built(&self) -> Option<PathBuf> {
        let program = self.target_dir.join("debug").join(self.package.file_name());
        program.is_file().then_some(program)
    }

    /// Builds the program with Cargo, once in the life of the process. Progress goes to standard error.
    pub(super) async fn build(&self) -> Result<(), Error> {
        let mut built = BUILT.lock().await;
        if !built.contains(self) {
            self.run_cargo().await?;
            built.push(self.clone());
        }
        Ok(())
    }

    /// Runs Cargo, which does nothing if the program is up to date.
    async fn run_cargo(&self) -> Result<(), Error> {
        let mut command = cargo();
        command
            .args(["build", "--locked", "--package", self.package.name, "--manifest-path"])
            .arg(&self.manifest);
        command.arg("--target-dir").arg(&self.target_dir);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let cant_run =
            |error: std::io::Error| Error::Build(self.package.title, format!("can't run cargo: {error}"));
        let mut child = command.spawn().map_err(cant_run)?;
        let mut progress = BuildProgress::start(self.package, self.built().is_none());
        let mut output = Vec::new();
        if let Some(stderr) = child.stderr.take() {
            let mut lines = BufReader::new(stderr).lines();
            while let Some(line) = progress.next_line(&mut lines).await {
                output.push(line);
            }
        }
        let status = child.wait().await.map_err(cant_run)?;
        progress.finish(status.success());
        if status.success() {
            return Ok(());
        }
        let tail = output.len().saturating_sub(MAX_OUTPUT_LINES);
        let tail = output.split_off(tail).join("\n");
        Err(Error::Build(self.package.title, format!("cargo failed with {status}. Its last lines:\n{tail}")))
    }
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
    fn package_variables_do_not_reach_the_build() {
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
