//! The functions as deployed: standalone executables.

use std::path::Path;

use local::Function;

use crate::failure::Failure;
use crate::metric::Metric;
use crate::start;

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
