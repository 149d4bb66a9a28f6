//! Programs of the workspace `infra/qdrant`: installed with the running program or in the user's data folder, or built from
//! a checkout.

mod build;
mod build_progress;

use std::path::{Path, PathBuf};

use build::Checkout;

/// Manifest of the workspace, if this program was built from a checkout that still exists.
const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../qdrant/Cargo.toml");
/// Folder in the user's data folder.
const DATA_SUBFOLDER: &str = "aptix";

/// A package of that workspace, with the program of its name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Package {
    /// Its name.
    name: &'static str,
    /// What it is, for messages.
    title: &'static str,
    /// What a user can do without it: a sentence.
    alternative: &'static str,
}

/// The embedded Qdrant.
pub(crate) static QDRANT: Package = Package {
    name: "embedded-qdrant",
    title: "the embedded Qdrant",
    alternative: "To use a Qdrant server instead, pass --qdrant URL.",
};

/// The program that extracts the text of PDF and Office documents.
pub(crate) static DOCUMENT_TEXT: Package = Package {
    name: indexing::document_text::PROGRAM,
    title: "the reader of PDF and Office documents",
    alternative: "Without it, other files are indexed and these are skipped.",
};

impl Package {
    /// Returns the file name of the program.
    fn file_name(&self) -> String {
        format!("{}{}", self.name, std::env::consts::EXE_SUFFIX)
    }
}

/// A failure to find or to build a program.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Cargo can't build it.
    #[error("Can't build {0}: {1}")]
    Build(&'static str, String),
    /// It isn't installed.
    #[error(
        "There is no {name} in {folders}. Copy it there from a release of aptix that includes it. {alternative}"
    )]
    Missing {
        /// Name of the program.
        name: String,
        /// Folders that were searched.
        folders: String,
        /// What a user can do without it.
        alternative: &'static str,
    },
}

/// A program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// An installed program.
    Installed(PathBuf),
    /// A checkout, from which Cargo builds it.
    Checkout(Checkout),
}

impl Program {
    /// Builds the program if it is one of a checkout whose sources have changed.
    ///
    /// # Errors
    /// Fails if it can't be built.
    pub(crate) async fn build(&self) -> Result<(), Error> {
        match self {
            Self::Installed(_) => Ok(()),
            Self::Checkout(checkout) => checkout.build().await,
        }
    }

    /// Returns the program's file, or `None` if it was never built.
    pub(crate) fn file(self) -> Option<PathBuf> {
        match self {
            Self::Installed(file) => Some(file),
            Self::Checkout(checkout) => checkout.built(),
        }
    }
}

/// The places in which a program is looked for.
#[derive(Debug, Clone)]
pub(crate) struct Locations {
    package: &'static Package,
    /// The running program.
    executable: PathBuf,
    /// The user's data folder. `None` if the environment names none.
    data: Option<PathBuf>,
    /// Manifest of the workspace, which may not exist.
    manifest: PathBuf,
}

impl Locations {
    /// Creates the places of a package's program for a running program.
    pub(crate) fn of(package: &'static Package, executable: &Path) -> Self {
        let data = user_data_folder().map(|folder| folder.join(DATA_SUBFOLDER));
        Self { package, executable: executable.to_owned(), data, manifest: MANIFEST.into() }
    }

    /// Finds the program: beside the running one, then in the user's data folder, then in a checkout.
    ///
    /// If Cargo built the running program, the one beside it may be older than its sources. So the checkout comes first.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn find(&self) -> Result<Program, Error> {
        let checkout = Checkout::of(self.package, &self.manifest, &self.executable);
        if let Some(checkout) = checkout.clone().filter(Checkout::is_running) {
            return Ok(Program::Checkout(checkout));
        }
        let installed =
            self.folders().map(|folder| folder.join(self.package.file_name())).find(|file| file.is_file());
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
        Error::Missing {
            name: self.package.file_name(),
            folders: folders.join(" or "),
            alternative: self.package.alternative,
        }
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
                package: &QDRANT,
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
            self.write(&format!("{folder}/{}", QDRANT.file_name()))
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
            QDRANT.file_name(),
            "--qdrant URL".to_owned(),
        ] {
            assert!(error.contains(&part), "{part}: {error}");
        }
    }
}
