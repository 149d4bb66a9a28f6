//! The ports of `turns` in memory: what their documentation says, and nothing an adapter adds.

mod index;
mod objects;
mod reads;
mod table;

pub use index::Index;
pub use objects::Objects;
pub use table::{Contents, Table};
