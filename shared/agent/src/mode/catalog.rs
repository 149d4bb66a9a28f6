//! The modes of this deployment, checked as a whole when the function starts.

use std::sync::Arc;

use super::{Mode, RagHint, catalog_check as check, prompt, shape};
use crate::{
    fault::{Faults, Found},
    tool::Definition,
};

const SEED: &str = include_str!("../../data/modes.json");
const DIAGNOSTICS: &str = include_str!("../../data/diagnostic_modes.json");
const MAX_BYTES: usize = 1024 * 1024;
const MINIMAL: &str = r#"{"Id":"","Key":"","DisplayName":"","Description":"","WhenToUse":"",
    "Status":"active","Version":""}"#;

/// Every mode, immutable while the service runs (AGN-011 §4.2).
#[derive(Debug, Clone)]
pub struct Catalog {
    modes: Vec<Arc<Mode>>,
    default: Arc<Mode>,
}

impl Catalog {
    /// Reads a JSON array of modes. `known_tools` are the names of the server tools there are.
    ///
    /// # Errors
    /// Every fault at once, when the catalog is not one that can be served from.
    pub fn parse(json: &str, known_tools: &[&str]) -> Result<Self, Faults> {
        let mut found = Found::default();
        let entries = shape::entries(json, "modes", MAX_BYTES, &mut found);
        let read = |(at, json): (String, &str)| {
            let mode = shape::read::<Mode>(json, MINIMAL, &at, &mut found)?;
            Some((at, mode))
        };
        let modes: Vec<(String, Mode)> = entries.into_iter().filter_map(read).collect();
        // The default mode may be the one that could not be read; then its absence is no fault.
        let all_read = found.count() == 0;
        check::catalog(&modes, known_tools, &mut found);
        let modes: Vec<Arc<Mode>> = modes.into_iter().map(|(_, mode)| Arc::new(mode)).collect();
        let default = modes.iter().find(|mode| mode.is_default).cloned();
        found.unless(default.is_some() || !all_read, "modes", "one mode must be the default");
        found.check()?;
        let default = default.ok_or_else(|| Faults::one("modes", "one mode must be the default"))?;
        Ok(Self { modes, default })
    }

    /// The catalog that comes with the service.
    ///
    /// # Errors
    /// Every fault at once, for example a tool that `known_tools` lacks.
    pub fn seed(known_tools: &[&str]) -> Result<Self, Faults> {
        Self::parse(SEED, known_tools)
    }

    /// The same and a mode that tests of a running service change to.
    ///
    /// # Errors
    /// As [`Catalog::seed`].
    pub fn with_diagnostics(known_tools: &[&str]) -> Result<Self, Faults> {
        let seed = SEED.trim_end().trim_end_matches(']');
        Self::parse(&format!("{seed},{}", DIAGNOSTICS.trim_start().trim_start_matches('[')), known_tools)
    }

    /// The modes in the catalog's order, deprecated ones too.
    pub fn modes(&self) -> impl Iterator<Item = &Mode> {
        self.modes.iter().map(AsRef::as_ref)
    }

    /// The mode with this key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Mode> {
        self.modes().find(|mode| mode.key == key)
    }

    /// The mode that sessions start in when nothing else is said (AGN-011 §3.1).
    #[must_use]
    pub fn default_mode(&self) -> &Mode {
        &self.default
    }

    /// The mode that a session starts in: its conversation context's, or the default when that names
    /// none or one that has left the catalog (ruling: first mode).
    #[must_use]
    pub fn first_mode(&self, wanted: Option<&str>) -> &Mode {
        wanted.and_then(|key| self.get(key)).unwrap_or(&self.default)
    }

    /// What a client displays for a mode; a key that has left the catalog reads as words
    /// (AGN-033 §3.1).
    #[must_use]
    pub fn display_name(&self, key: &str) -> String {
        self.get(key).map_or_else(|| super::display_name(key), |mode| mode.display_name.clone())
    }

    /// The server tools that a mode brings beside `agent_change_mode`, `AssociatedToolIds`; none for an
    /// unknown key (AGN-011 §4.2).
    #[must_use]
    pub fn tools_of(&self, key: &str) -> &[String] {
        self.get(key).map_or(&[], |mode| &mode.associated_tool_ids)
    }

    /// The client tools that a mode brings, `ClientTools`; none for an unknown key (AGN-011 §4.3).
    #[must_use]
    pub fn client_tools_of(&self, key: &str) -> &[Definition] {
        self.get(key).map_or(&[], |mode| &mode.client_tools)
    }

    /// What retrieval ranks higher in a mode; nothing for an unknown key.
    #[must_use]
    pub fn rag_hints(&self, key: &str) -> &[RagHint] {
        self.get(key).map_or(&[], |mode| &mode.rag_scope_hints)
    }

    /// The part of the system message that lists the modes to choose from; at most 20,000 characters,
    /// since modes and their texts are bounded.
    #[must_use]
    pub fn block(&self) -> String {
        prompt::block(self.modes())
    }

    /// The part that holds in one mode; none for an unknown key.
    ///
    /// A mode without instructions has a part all the same: it ends those of the mode before.
    #[must_use]
    pub fn instructions(&self, key: &str) -> Option<String> {
        self.get(key).map(prompt::instructions)
    }
}
