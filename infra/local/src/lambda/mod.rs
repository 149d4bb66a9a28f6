//! The Lambda service: function processes, the Runtime API that they poll, and invocations.
//!
//! A process serves one invocation at a time, or several as on Lambda Managed Instances. A pool per function starts
//! processes on demand up to a cap, prefers idle ones, and stops those that stay idle.

mod init_check;
mod instance;
mod invocation;
mod logs;
mod pool;
mod process;
mod recording;
mod runtime_api;
mod service;

pub use init_check::InitError;
pub(crate) use invocation::{InvokeError, Part, Reply};
pub(crate) use logs::log_path;
pub(crate) use process::{Launcher, RUNTIME_API_VARIABLE};
pub(crate) use recording::Recording;
pub(crate) use runtime_api::router;
pub(crate) use service::Lambda;
