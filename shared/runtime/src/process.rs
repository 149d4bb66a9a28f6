//! A function's process, from its start to its end.

use std::{error::Error, future::Future, io, process::ExitCode, thread};

use contracts::error::causes;
use settings::Invalid;
use tokio::runtime::Builder;

type Failure = Box<dyn Error + Send + Sync>;

/// The stack of the thread that runs a function, in bytes: the futures of a turn are large in a debug build, and
/// a thread has 2 MiB by default, a process's first thread on Windows 1 MiB.
const STACK: usize = 8 << 20;

/// Runs a function until the Lambda service ends its process. Why it could not, if it could not, is in the log.
///
/// One thread does all of it. An execution environment has one invocation at a time, which waits far more than it
/// works: a second thread would add wake-ups and gain nothing.
pub fn run<F: Future<Output = Result<(), Failure>>>(
    function: &'static str,
    serve: impl FnOnce() -> F + Send + 'static,
) -> ExitCode {
    let served = move || -> io::Result<ExitCode> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(runtime.block_on(async {
            crate::telemetry::start(function);
            ended(serve().await)
        }))
    };
    let thread = thread::Builder::new().name(function.into()).stack_size(STACK).spawn(served);
    match thread.map(thread::JoinHandle::join) {
        Ok(Ok(Ok(code))) => code,
        // No thread or no runtime: the system has run out of something. A panic has told of itself.
        _ => ExitCode::FAILURE,
    }
}

/// Logs what ended the process, a line for each setting that is wrong, and says how it ended.
///
/// Lambda starts a process that failed again and again, so the log is where somebody looks.
fn ended(result: Result<(), Failure>) -> ExitCode {
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
