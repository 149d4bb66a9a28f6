//! The functions as they are deployed: each a program of its own, and its zip.

use std::path::Path;

use crate::lambda::Function;

use super::Failure;
use super::figure::Figure;
use super::load::count;
use super::start;

/// The sizes of the zips, where `cargo lambda build --output-format zip` leaves them.
pub(super) fn sizes(folder: &Path) -> Result<Vec<Figure>, Failure> {
    let size = |function: Function| {
        let zip = folder.join(function.name()).join("bootstrap.zip");
        let found = std::fs::metadata(&zip).map_err(|error| format!("{}: {error}", zip.display()))?;
        let mib = count(usize::try_from(found.len())?) / f64::from(1 << 20);
        Ok(Figure::new("zips", function.name(), "MiB", mib))
    };
    Function::ALL.into_iter().map(size).collect()
}

/// The median of some starts of each function's own program, of those that are there. They have to be of this machine's processor.
pub(super) async fn starts(folder: &Path) -> Result<Vec<Figure>, Failure> {
    let mut figures = Vec::new();
    for function in Function::ALL {
        let program = folder.join(function.name()).join("bootstrap");
        if program.exists() {
            let median = start::median(&program, &[], function.name()).await?;
            figures.push(Figure::new("start to first poll, its own program", function.name(), "ms", median));
        }
    }
    Ok(figures)
}
