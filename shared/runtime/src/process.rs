//! Runs a function's process, from start to exit.

use std::{
    cell::Cell,
    error::Error,
    future::Future,
    io,
    panic::{self, AssertUnwindSafe},
    process,
    process::ExitCode,
    thread,
};

use contracts::error::causes;
use settings::Invalid;
use tokio::runtime::{Builder, Runtime};

use crate::concurrency;

type Failure = Box<dyn Error + Send + Sync>;

/// The stack size of a thread that runs a function, in bytes. A turn's futures are large in a debug build. The
/// default is 2 MiB, and 1 MiB for the first thread on Windows.
const STACK_BYTES: usize = 8 << 20;

thread_local! {
    /// True while this thread runs code whose panics end nothing.
    static IS_CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Runs a library's code that panics on invalid input. Returns `None` if it does. The process continues, so such code must leave
/// no state behind.
pub(crate) fn contain<T>(convert: impl FnOnce() -> T) -> Option<T> {
    IS_CONTAINED.set(true);
    let converted = panic::catch_unwind(AssertUnwindSafe(convert));
    IS_CONTAINED.set(false);
    converted.ok()
}

/// Runs a function until the Lambda service ends its process. Logs the reason if it fails.
pub fn run<F: Future<Output = Result<(), Failure>>>(
    function: &'static str,
    serve: impl FnOnce() -> F + Send + 'static,
) -> ExitCode {
    let served = move || -> io::Result<ExitCode> {
        let runtime = runtime(concurrency::limit())?;
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

/// Creates the runtime of a process that serves so many invocations at a time.
///
/// For one, a single thread does all the work: an invocation mostly waits, and a second thread would add wake-ups and
/// gain nothing. Many keep several cores busy.
fn runtime(concurrency: u32) -> io::Result<Runtime> {
    if concurrency > 1 {
        return Builder::new_multi_thread().thread_stack_size(STACK_BYTES).enable_all().build();
    }
    abort_on_panic();
    Builder::new_current_thread().enable_all().build()
}

/// Makes a panic end a release build's process, which no other invocation shares: Lambda starts a new one, whose state
/// is sound. A development build answers instead and continues. So does every build after a panic in [`contain`].
fn abort_on_panic() {
    if cfg!(debug_assertions) {
        return;
    }
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        report(info);
        if !IS_CONTAINED.get() {
            process::abort();
        }
    }));
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
