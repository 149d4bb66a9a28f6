//! Sizes of the functions' zips.

use std::path::Path;

use crate::lambda::Function;

use super::Failure;
use super::figure::Figure;
use super::load::count;

/// What is deployed of each function, where `cargo lambda build --output-format zip` leaves it.
pub(super) fn sizes(folder: &Path) -> Result<Vec<Figure>, Failure> {
    let size = |function: Function| {
        let zip = folder.join(function.name()).join("bootstrap.zip");
        let found = std::fs::metadata(&zip).map_err(|error| format!("{}: {error}", zip.display()))?;
        let mib = count(usize::try_from(found.len())?) / f64::from(1 << 20);
        Ok(Figure::new("zips", function.name(), "MiB", mib))
    };
    Function::ALL.into_iter().map(size).collect()
}
