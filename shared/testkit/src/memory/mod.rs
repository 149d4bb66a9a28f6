//! The ports of `turns` in memory: exactly as documented, and nothing that an adapter adds.

mod archive;
mod documents;
mod index;
mod meter;
mod objects;
mod reads;
mod table;

pub use index::Index;
pub use objects::Objects;
pub use table::{Contents, Table};
