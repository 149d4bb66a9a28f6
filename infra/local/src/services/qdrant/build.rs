//! Building the engine: a workspace of its own, `infra/qdrant`, for reasons that its `Cargo.toml` gives.

use std::path::{Path, PathBuf};

use tokio::process::Command;
use tokio::sync::Mutex;

use super::Error;

/// Where its sources are. A local cloud is run where it was built.
const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../qdrant/Cargo.toml");

/// One build at a time: the clouds of one process share it.
static BUILDING: Mutex<()> = Mutex::const_new(());

/// The folder to build in, beside what else was built: `target/qdrant` for `target/debug/local`.
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
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--locked", "--manifest-path", MANIFEST, "--target-dir"]).arg(target);
    if built(target).is_some() {
        command.arg("--quiet");
    }
    let built =
        command.status().await.map_err(|error| Error::Build(format!("cargo does not run: {error}")))?;
    if built.success() { Ok(()) } else { Err(Error::Build(format!("cargo ended with {built}"))) }
}
