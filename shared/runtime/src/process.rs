//! Runs a function's process, from start to exit.

use std::{error::Error, future::Future, io, process::ExitCode, thread};

use contracts::error::causes;
use settings::Invalid;
use tokio::runtime::Builder;

type Failure = Box<dyn Error + Send + Sync>;

/// The stack size of the thread that runs a function, in bytes. A turn's futures are large in a debug build. The
/// default is 2 MiB, and 1 MiB for the first thread on Windows.
const STACK_BYTES: usize = 8 << 20;

/// Runs a function until the Lambda service ends its process. Logs the reason if it fails.
///
/// One thread does all the work. An execution environment handles one invocation at a time, and that mostly waits: a
/// second thread would add wake-ups and gain nothing.
pub fn run<F: Future<Output = Result<(), Failure>>>(
    function: &'static str,
    serve: impl FnOnce() -> F + Send + 'static,
) -> ExitCode {
    let served = move || -> io::Result<ExitCode> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(runtime.block_on(async {
            crate::telemetry::start(function);
            report_exit(serve().await)
        }))
    };
    let thread = thread::Builder::new().name(function.into()).stack_size(STACK_BYTES).spawn(served);
    match thread.map(thread::JoinHandle::join) {
        Ok(Ok(Ok(code))) => code,
        // The system has no resources for a thread or a runtime. A panic has already been reported.
        _ => ExitCode::FAILURE,
    }
}

/// Logs the error that ended the process, with one line for each invalid setting, and returns the exit code.
///
/// Lambda keeps restarting a process that fails, so the log is the place to look.
fn report_exit(result: Result<(), Failure>) -> ExitCode {
    let Err(error) = result else { return ExitCode::SUCCESS };
    match error.downcast_ref::<Invalid>() {
        Some(invalid) => {
            for fault in invalid.faults() {
                tracing::error!(error = fault.as_str(), "{}", contracts::log::SETTING_INVALID);
            }
        }
        None => tracing::error!(error = %causes(error.as_ref()), "{}", contracts::log::FUNCTION_EXITED),
    }
    ExitCode::FAILURE
}
