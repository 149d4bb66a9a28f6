//! Files and folders that only their owner can read.

use std::fs::{DirBuilder, File, OpenOptions};
#[cfg(unix)]
use std::io::ErrorKind;
use std::io::{Result, Write};
use std::path::Path;

/// Mode of a private folder.
#[cfg(unix)]
const FOLDER_MODE: u32 = 0o700;
/// Mode of a private file.
#[cfg(unix)]
const FILE_MODE: u32 = 0o600;

/// Creates a folder and its missing parents. An existing folder becomes private.
pub(crate) fn create_folder(path: &Path) -> Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, FOLDER_MODE);
    builder.create(path)?;
    #[cfg(unix)]
    restrict(path, FOLDER_MODE)?;
    Ok(())
}

/// Opens a file for appending, or creates it. An existing file becomes private.
pub(crate) fn append(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, FILE_MODE);
    let file = options.open(path)?;
    #[cfg(unix)]
    restrict(path, FILE_MODE)?;
    Ok(file)
}

/// Makes a file private, if it exists.
pub(crate) fn make_private(path: &Path) -> Result<()> {
    #[cfg(unix)]
    match restrict(path, FILE_MODE) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        result => result?,
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Writes a file. It is complete, or unchanged if the write fails.
pub(crate) fn write(path: &Path, contents: impl AsRef<[u8]>) -> Result<()> {
    // A temporary file is private, and stays so when it is renamed.
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    file.write_all(contents.as_ref())?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Sets the mode of a file or folder if others have access to it.
#[cfg(unix)]
fn restrict(path: &Path, mode: u32) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let others = 0o077;
    if path.metadata()?.permissions().mode() & others == 0 {
        return Ok(());
    }
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> Option<u32> {
        Some(path.metadata().ok()?.permissions().mode() & 0o777)
    }

    #[test]
    fn new_and_existing_files_and_folders_become_private() {
        let root = tempfile::tempdir().unwrap();
        let (folder, file) = (root.path().join("a/b"), root.path().join("file"));
        create_folder(&folder).unwrap();
        assert_eq!((mode(&folder), mode(folder.parent().unwrap())), (Some(0o700), Some(0o700)));
        std::fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        create_folder(&folder).unwrap();
        assert_eq!(mode(&folder), Some(0o700));

        std::fs::write(&file, "public").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        append(&file).unwrap().write_all(b", once").unwrap();
        assert_eq!(
            (mode(&file), std::fs::read_to_string(&file).unwrap().as_str()),
            (Some(0o600), "public, once")
        );
        std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        write(&file, "private").unwrap();
        assert_eq!((mode(&file), std::fs::read_to_string(&file).unwrap().as_str()), (Some(0o600), "private"));
    }
}
