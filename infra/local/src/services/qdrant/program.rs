//! The engine's program: installed with the running program or in the user's data folder, or built from a checkout.

use std::path::{Path, PathBuf};

use super::build::{Checkout, file_name};
use super::error::Error;

/// Manifest of the engine's sources, if this program was built from a checkout that still exists.
const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../qdrant/Cargo.toml");
/// Folder in the user's data folder.
const DATA_SUBFOLDER: &str = "aptix";

/// The engine's program.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Program {
    /// An installed program.
    Installed(PathBuf),
    /// A checkout, from which Cargo builds it.
    Checkout(Checkout),
}

/// The places in which the engine's program is looked for.
#[derive(Debug, Clone)]
pub(super) struct Locations {
    /// The running program.
    executable: PathBuf,
    /// The user's data folder. `None` if the environment names none.
    data: Option<PathBuf>,
    /// Manifest of the engine's sources, which may not exist.
    manifest: PathBuf,
}

impl Locations {
    /// Creates the places for a running program.
    pub(super) fn of(executable: &Path) -> Self {
        let data = user_data_folder().map(|folder| folder.join(DATA_SUBFOLDER));
        Self { executable: executable.to_owned(), data, manifest: MANIFEST.into() }
    }

    /// Finds the engine's program: beside the running one, then in the user's data folder, then in a checkout.
    ///
    /// If Cargo built the running program, the one beside it may be older than its sources. So the checkout comes first.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn find(&self) -> Result<Program, Error> {
        let checkout = Checkout::of(&self.manifest, &self.executable);
        if let Some(checkout) = checkout.clone().filter(Checkout::is_running) {
            return Ok(Program::Checkout(checkout));
        }
        let installed = self.folders().map(|folder| folder.join(file_name())).find(|file| file.is_file());
        installed.map(Program::Installed).or(checkout.map(Program::Checkout)).ok_or_else(|| self.missing())
    }

    /// Returns the folders of installed programs, in order. The running program may be a link.
    fn folders(&self) -> impl Iterator<Item = PathBuf> {
        let beside = self.executable.parent().map(Path::to_owned);
        let beside_target =
            self.executable.canonicalize().ok().and_then(|file| Some(file.parent()?.to_owned()));
        [beside, beside_target, self.data.clone()].into_iter().flatten()
    }

    fn missing(&self) -> Error {
        let beside = self.executable.parent().into_iter();
        let folders: Vec<_> =
            beside.chain(self.data.as_deref()).map(|folder| folder.display().to_string()).collect();
        Error::Missing { name: file_name(), folders: folders.join(" or ") }
    }
}

/// Returns the folder for data of the user's programs. Relative paths in variables are ignored.
fn user_data_folder() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if cfg!(windows) {
        absolute("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        Some(absolute("HOME")?.join("Library/Application Support"))
    } else {
        absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    /// An installed program, a data folder and a checkout with a target folder, all of them empty.
    struct Fixture {
        root: TempDir,
        locations: Locations,
    }

    impl Fixture {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            let at = |path: &str| root.path().join(path);
            for folder in ["bin", "data/aptix", "checkout/infra/qdrant", "checkout/target/debug/.fingerprint"]
            {
                fs::create_dir_all(at(folder)).unwrap();
            }
            let locations = Locations {
                executable: at("bin/aptix"),
                data: Some(at("data/aptix")),
                manifest: at("checkout/infra/qdrant/Cargo.toml"),
            };
            let fixture = Self { root, locations };
            fixture.write("bin/aptix");
            fixture.write("checkout/target/debug/aptix");
            fixture
        }

        fn path(&self, path: &str) -> PathBuf {
            self.root.path().join(path)
        }

        fn write(&self, path: &str) -> PathBuf {
            fs::write(self.path(path), "").unwrap();
            self.path(path)
        }

        fn engine(&self, folder: &str) -> PathBuf {
            self.write(&format!("{folder}/{}", file_name()))
        }

        /// Returns the folder in which the checkout builds the engine.
        fn target_dir(&self) -> PathBuf {
            match self.locations.find() {
                Ok(Program::Checkout(checkout)) => checkout.target_dir().to_owned(),
                other => panic!("no checkout: {other:?}"),
            }
        }
    }

    #[test]
    fn engine_beside_program_precedes_data_folder_and_checkout() {
        let fixture = Fixture::new();
        fixture.write("checkout/infra/qdrant/Cargo.toml");
        assert!(matches!(fixture.locations.find(), Ok(Program::Checkout(_))));
        let in_data = fixture.engine("data/aptix");
        assert_eq!(fixture.locations.find().unwrap(), Program::Installed(in_data));
        let beside = fixture.engine("bin");
        assert_eq!(fixture.locations.find().unwrap(), Program::Installed(beside));
    }

    #[test]
    fn installed_program_builds_into_target_of_checkout() {
        let fixture = Fixture::new();
        fixture.write("checkout/infra/qdrant/Cargo.toml");
        let expected = fixture.path("checkout/target").canonicalize().unwrap();
        assert_eq!(fixture.target_dir(), expected);
    }

    #[test]
    fn program_of_checkout_builds_beside_itself_and_ignores_old_engine() {
        let mut fixture = Fixture::new();
        fixture.write("checkout/infra/qdrant/Cargo.toml");
        fixture.engine("data/aptix");
        fixture.engine("checkout/target/debug");
        fixture.locations.executable = fixture.path("checkout/target/debug/aptix");
        assert_eq!(fixture.target_dir(), fixture.path("checkout/target"));
    }

    #[test]
    fn built_program_without_sources_uses_engine_beside_it() {
        let mut fixture = Fixture::new();
        let built = fixture.engine("checkout/target/debug");
        fixture.locations.executable = fixture.path("checkout/target/debug/aptix");
        assert_eq!(fixture.locations.find().unwrap(), Program::Installed(built));
    }

    #[test]
    #[cfg(unix)]
    fn engine_beside_target_of_link_is_found() {
        let mut fixture = Fixture::new();
        fs::create_dir(fixture.path("opt")).unwrap();
        fixture.write("opt/aptix");
        let engine = fixture.engine("opt");
        fixture.locations.executable = fixture.path("link");
        std::os::unix::fs::symlink(fixture.path("opt/aptix"), &fixture.locations.executable).unwrap();
        let Program::Installed(found) = fixture.locations.find().unwrap() else { panic!("not installed") };
        assert_eq!(found.canonicalize().unwrap(), engine.canonicalize().unwrap());
    }

    #[test]
    fn missing_engine_names_folders_and_alternatives() {
        let fixture = Fixture::new();
        let error = fixture.locations.find().unwrap_err().to_string();
        for part in [
            fixture.path("bin").display().to_string(),
            fixture.path("data/aptix").display().to_string(),
            file_name(),
            "--qdrant URL".to_owned(),
        ] {
            assert!(error.contains(&part), "{part}: {error}");
        }
    }
}
