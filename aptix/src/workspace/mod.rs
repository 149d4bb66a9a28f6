//! A workspace: a folder that an agent may read and change, and nothing outside it.
//!
//! Every path, symbolic links included, is resolved inside an open folder handle, so no link can be swapped in
//! between check and use. Results are bounded in size and number.

mod call;
mod change;
mod error;
mod folder;
mod patch;
mod protection;
#[cfg(test)]
mod tests;
mod walk;

pub(crate) use call::Call;
pub(crate) use change::ProposedChange;
pub(crate) use error::Error;
pub(crate) use folder::Workspace;
pub(crate) use protection::Protection;
