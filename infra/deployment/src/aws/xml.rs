//! XML of responses in the query protocol.

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A list, as the query protocol writes it: an element with a `member` for each entry.
#[derive(Debug, Deserialize)]
pub struct Members<T> {
    /// The entries.
    #[serde(default = "Vec::new")]
    pub member: Vec<T>,
}

impl<T> Default for Members<T> {
    fn default() -> Self {
        Self { member: Vec::new() }
    }
}

/// Reads a response.
pub(super) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, quick_xml::DeError> {
    quick_xml::de::from_str(text)
}
