//! Tools and a mode for tests of a running service. Builds without the feature `diagnostics`, such as those for a
//! deployment, have none and refuse the setting.

use agent::fault::Faults;
use agent::mode::Catalog;
use agent::tool::ServerTool;
use lambda_http::Error;

/// Returns the tools.
///
/// # Errors
/// Fails if this build has none.
#[cfg(feature = "diagnostics")]
pub(crate) fn tools() -> Result<Vec<Box<dyn ServerTool>>, Error> {
    use agent::tool::diagnostics::{Sleep, diagnostics};
    Ok(diagnostics(Sleep::new(tokio::time::sleep)))
}

/// Returns the shipped catalog with the mode.
///
/// # Errors
/// Fails if the catalog is invalid.
#[cfg(feature = "diagnostics")]
pub(crate) fn catalog(known_tools: &[&str]) -> Result<Catalog, Faults> {
    Catalog::with_diagnostics(known_tools)
}

/// Refuses to start.
#[cfg(not(feature = "diagnostics"))]
pub(crate) fn tools() -> Result<Vec<Box<dyn ServerTool>>, Error> {
    Err("This build has no diagnostic tools. Unset DIAGNOSTIC_TOOLS.".into())
}

/// Returns the shipped catalog.
#[cfg(not(feature = "diagnostics"))]
pub(crate) fn catalog(known_tools: &[&str]) -> Result<Catalog, Faults> {
    Catalog::seed(known_tools)
}
