//! The ports of `turns` in memory: exactly as documented, and nothing that an adapter adds. Only the queue has faults.

mod archive;
mod documents;
mod index;
mod meter;
mod objects;
mod queue;
mod reads;
mod table;

pub use index::Index;
pub use objects::Objects;
pub use queue::{Delivery, NoTurnQueue, Queue, QueueFaults};
pub use table::{Contents, Table};
