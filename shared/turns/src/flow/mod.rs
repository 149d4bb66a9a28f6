//! The flows: read, decide with a pure transition, write, and again if somebody else was faster.
//!
//! Each flow owns one entry of the system and needs only the ports it names.

mod ask;
mod attempt;
mod cancel;
mod checkpoint;
mod compose;
mod conversation;
mod design;
mod execute;
mod files;
mod finalize;
mod follow;
mod history;
mod lease;
mod names;
mod outcome;
mod publish;
mod read;
mod recover;
mod replay;
mod resume;
mod salvage;
mod start;
mod take_over;
mod think;
mod tools;
mod write;

pub use design::Design;
pub use execute::Executor;
pub use finalize::{Finalizer, Swept};
pub use read::{PayloadName, Reader};
