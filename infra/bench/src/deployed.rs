//! The functions as deployed: standalone executables and zips.

use std::path::Path;

use local::Function;

use crate::failure::Failure;
use crate::metric::{Metric, count};
use crate::start;

/// Returns the sizes of the zips that `cargo lambda build --output-format zip` writes.
pub(crate) fn sizes(folder: &Path) -> Result<Vec<Metric>, Failure> {
    let size = |function: Function| {
        let zip = folder.join(function.name()).join("bootstrap.zip");
        let found = std::fs::metadata(&zip).map_err(|error| format!("{}: {error}", zip.display()))?;
        let mib = count(usize::try_from(found.len())?) / f64::from(1 << 20);
        Ok(Metric::new("zips", function.name(), "MiB", mib))
    };
    Function::ALL.into_iter().map(size).collect()
}

/// Returns the median start time of each function's standalone executable, if it exists. The executables must be
/// built for this machine's processor.
pub(crate) async fn starts(folder: &Path) -> Result<Vec<Metric>, Failure> {
    let mut metrics = Vec::new();
    for function in Function::ALL {
        let program = folder.join(function.name()).join("bootstrap");
        if program.exists() {
            let median = start::median(&program, &[], function.name()).await?;
            metrics.push(Metric::new(
                "start to first poll, standalone executable",
                function.name(),
                "ms",
                median,
            ));
        }
    }
    Ok(metrics)
}
