//! Provider profiles: each known provider is a row of one table, see `profiles`.
//!
//! Profiles hold differences only: events, items and usage are the same for all. docs/guides/providers.md lists the
//! sources of the error texts.

mod profile;
mod profiles;

use std::fmt;
use std::str::FromStr;

pub use profile::{Chain, Echo, ErrorTemplate, Framing, Key, Profile};
use profiles::PROFILES;

/// A known provider of the Responses API.
#[derive(Debug, Clone, Copy)]
pub struct Provider(&'static Profile);

/// Error for the name of an unknown provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no known provider; known are: {0}")]
pub struct UnknownProvider(String);

impl Provider {
    /// Every known provider, the published API first.
    pub fn all() -> impl Iterator<Item = Self> {
        PROFILES.iter().map(Self)
    }

    /// Returns its name, the value of `--mock-profile`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.name
    }

    pub fn profile(self) -> &'static Profile {
        self.0
    }
}

impl Default for Provider {
    /// The published API itself.
    fn default() -> Self {
        let [published, ..] = &PROFILES;
        Self(published)
    }
}

impl PartialEq for Provider {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Provider {}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Provider {
    type Err = UnknownProvider;

    fn from_str(name: &str) -> Result<Self, UnknownProvider> {
        Self::all().find(|provider| provider.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Self::all().map(Self::name).collect();
            UnknownProvider(names.join(", "))
        })
    }
}
