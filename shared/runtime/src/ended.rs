//! The end of a function's process: why it could not start, in lines of the log.

use std::{error::Error, process::ExitCode};

use contracts::error::causes;
use settings::Invalid;

/// Logs what ended the process, a line for each setting that is wrong, and says how it ended.
///
/// Lambda starts a process that failed again and again, so the log is where somebody looks.
pub fn ended(result: Result<(), Box<dyn Error + Send + Sync>>) -> ExitCode {
    let Err(error) = result else { return ExitCode::SUCCESS };
    match error.downcast_ref::<Invalid>() {
        Some(invalid) => {
            for fault in invalid.faults() {
                tracing::error!(error = fault.as_str(), "a setting is wrong");
            }
        }
        None => tracing::error!(error = %causes(error.as_ref()), "the function ended"),
    }
    ExitCode::FAILURE
}
