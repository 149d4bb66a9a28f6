//! Detects files that may hold a secret, by their name and content, before any of their text leaves the machine.
//!
//! The rules are data: `shared/indexing/data/secrets.yaml`. Patterns run in linear time, and each only within a bounded
//! distance of its keywords, so that a scan is a small part of a run.

mod catalog;
mod finding;
mod path_set;
#[cfg(test)]
mod planted;
mod rule;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use catalog::Catalog;
pub use finding::Finding;
pub use path_set::{AllowedSecrets, InvalidPattern};

/// The rules. `None` if they can't be read, and then every file is refused.
static CATALOG: LazyLock<Option<Catalog>> = LazyLock::new(Catalog::read);

/// Returns the rule that forbids the name of a file, by its path below the folder.
#[must_use]
pub fn find_in_name(path: &str) -> Option<Finding> {
    match &*CATALOG {
        Some(catalog) => catalog.find_in_name(path),
        None => Some(Finding::NoRules),
    }
}

/// Returns the first rule that the content of a file matches.
#[must_use]
pub fn find_in_text(path: &str, text: &str) -> Option<Finding> {
    match &*CATALOG {
        Some(catalog) => catalog.find_in_text(path, text),
        None => Some(Finding::NoRules),
    }
}
