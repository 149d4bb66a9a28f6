//! The catalog: the modes that a turn may use.

use std::sync::Arc;

use super::{Mode, RagHint, check, key, parse, prompt};
use crate::{
    fault::{FaultCollector, Faults},
    tool::{AvailableMode, Definition, TurnFacts, usage_metadata_block},
};

const SEED: &str = include_str!("../../data/modes.json");
#[cfg(any(test, feature = "diagnostics"))]
const DIAGNOSTICS: &str = include_str!("../../data/diagnostic_modes.json");
const MAX_BYTES: usize = 1024 * 1024;
const MINIMAL: &str = r#"{"Id":"","Key":"a","DisplayName":"","Description":"","WhenToUse":"",
    "Status":"active","Version":""}"#;

/// Returns the built-in modes. A test checks them, so that reading them is cheap.
///
/// # Errors
/// Returns faults if the data isn't a list of modes.
pub fn built_in_modes() -> Result<Vec<Mode>, Faults> {
    serde_json::from_str(SEED).map_err(|error| Faults::single("modes", error))
}

/// The modes that a turn may use: the built-in modes, and the modes of its org. Clones share them.
#[derive(Debug, Clone)]
pub struct Catalog {
    modes: Arc<[Arc<Mode>]>,
    default: Arc<Mode>,
    /// The server's tools, whose usage a change of mode tells.
    tools: Arc<[Definition]>,
}

impl Catalog {
    /// Parses a JSON array of modes. `known_tools` are the names of the server's tools.
    ///
    /// # Errors
    /// Returns every fault at once if the catalog is invalid.
    pub fn parse(json: &str, known_tools: &[&str]) -> Result<Self, Faults> {
        let mut faults = FaultCollector::default();
        let unparsed = parse::parse_entries(json, "modes", MAX_BYTES, &mut faults);
        let parse = |(at, json): (String, &str)| {
            let mode = parse::parse_document::<Mode>(json, MINIMAL, &at, &mut faults)?;
            Some((at, mode))
        };
        let modes: Vec<(String, Mode)> = unparsed.into_iter().filter_map(parse).collect();
        // If the default mode itself failed to parse, its absence is no further fault.
        let all_parsed = faults.count() == 0;
        check::check_catalog(&modes, known_tools, &mut faults);
        let modes: Vec<Arc<Mode>> = modes.into_iter().map(|(_, mode)| Arc::new(mode)).collect();
        let default = modes.iter().find(|mode| mode.is_default).cloned();
        faults.require(default.is_some() || !all_parsed, "modes", "one mode must be the default");
        faults.finish()?;
        let default = default.ok_or_else(|| Faults::single("modes", "one mode must be the default"))?;
        Ok(Self { modes: modes.into(), default, tools: Arc::default() })
    }

    /// Adds the definitions of the server's tools.
    #[must_use]
    pub fn with_tools<'a>(self, tools: impl IntoIterator<Item = &'a Definition>) -> Self {
        Self { tools: tools.into_iter().cloned().collect(), ..self }
    }

    /// Adds the modes of an org. One with a key that the catalog has replaces that mode in its place, and stays the
    /// default if that mode is. The others follow. Modes beyond the limit of a catalog are left out.
    #[must_use]
    pub fn with_modes(&self, own: &[Arc<Mode>]) -> Self {
        if own.is_empty() {
            return self.clone();
        }
        let mut modes = self.modes.to_vec();
        for mode in own {
            let is_default = mode.key == self.default.key;
            let mode = match mode.is_default == is_default {
                true => Arc::clone(mode),
                false => Arc::new(Mode { is_default, ..Mode::clone(mode) }),
            };
            match modes.iter_mut().find(|other| other.key == mode.key) {
                Some(replaced) => *replaced = mode,
                None => modes.push(mode),
            }
        }
        modes.truncate(check::MAX_MODES);
        let default = modes.iter().find(|mode| mode.is_default).unwrap_or(&self.default);
        Self { default: Arc::clone(default), modes: modes.into(), tools: Arc::clone(&self.tools) }
    }

    /// Checks a mode of an org that is added to this catalog.
    pub(crate) fn check_mode(
        &self,
        mode: &Mode,
        known_tools: &[&str],
        at: &str,
        faults: &mut FaultCollector,
    ) {
        check::check_own_mode(mode, &self.modes, &self.default, known_tools, at, faults);
    }

    /// Returns the catalog that ships with the service.
    ///
    /// # Errors
    /// Returns every fault at once, for example a tool that `known_tools` lacks.
    pub fn seed(known_tools: &[&str]) -> Result<Self, Faults> {
        Self::parse(SEED, known_tools)
    }

    /// Returns the shipped catalog and a mode for tests of a running service. The functions of a deployment are built
    /// without it.
    ///
    /// # Errors
    /// The same as [`Catalog::seed`].
    #[cfg(any(test, feature = "diagnostics"))]
    pub fn with_diagnostics(known_tools: &[&str]) -> Result<Self, Faults> {
        let own: Vec<Mode> =
            serde_json::from_str(DIAGNOSTICS).map_err(|error| Faults::single("modes", error))?;
        let own: Vec<Arc<Mode>> = own.into_iter().map(Arc::new).collect();
        Ok(Self::seed(known_tools)?.with_modes(&own))
    }

    /// Returns the modes in the catalog's order, deprecated ones included.
    pub fn modes(&self) -> impl Iterator<Item = &Mode> {
        self.modes.iter().map(AsRef::as_ref)
    }

    /// Returns the mode with this key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Mode> {
        self.modes().find(|mode| mode.key.as_str() == key)
    }

    /// Returns the mode that sessions start in by default.
    #[must_use]
    pub fn default_mode(&self) -> &Mode {
        &self.default
    }

    /// Returns the mode that a session starts in: the one its conversation context names, or the default if it names
    /// none or one that the catalog no longer has.
    #[must_use]
    pub fn initial_mode(&self, requested: Option<&str>) -> &Mode {
        requested.and_then(|key| self.get(key)).unwrap_or(&self.default)
    }

    /// Returns the display name of a mode. A key that the catalog doesn't have is turned into words.
    #[must_use]
    pub fn display_name(&self, key: &str) -> String {
        self.get(key).map_or_else(|| key::display_name(key), |mode| mode.display_name.clone())
    }

    /// Returns the server tools of a mode (`AssociatedToolIds`) besides `agent_change_mode`. Empty for an unknown
    /// key.
    #[must_use]
    pub fn server_tools(&self, key: &str) -> &[String] {
        self.get(key).map_or(&[], |mode| &mode.associated_tool_ids)
    }

    /// Returns the client tools of a mode (`ClientTools`). Empty for an unknown key.
    #[must_use]
    pub fn client_tools(&self, key: &str) -> &[Definition] {
        self.get(key).map_or(&[], |mode| &mode.client_tools)
    }

    /// Returns the ranking hints of a mode. Empty for an unknown key.
    #[must_use]
    pub fn rag_hints(&self, key: &str) -> &[RagHint] {
        self.get(key).map_or(&[], |mode| &mode.rag_scope_hints)
    }

    /// Returns the facts that tools may use about a turn in this mode.
    #[must_use]
    pub fn facts(&self, mode: &str) -> TurnFacts {
        let offered = self.modes().filter(|mode| mode.is_offered());
        let modes = offered.map(|mode| AvailableMode {
            key: mode.key.as_str().to_owned(),
            display_name: mode.display_name.clone(),
            when_to_use: mode.when_to_use.clone(),
        });
        TurnFacts { mode: mode.to_owned(), modes: modes.collect() }
    }

    /// Renders the part of the system message that lists the available modes. It has at most 20,000 characters,
    /// since modes and their texts are bounded.
    #[must_use]
    pub fn catalog_block(&self) -> String {
        prompt::catalog_block(self.modes())
    }

    /// Renders a change of mode: the instructions of the mode, and the usage of the server tools that the mode before
    /// it didn't offer. None for an unknown key.
    #[must_use]
    pub fn mode_change(&self, before: Option<&str>, key: &str) -> Option<String> {
        let instructions = self.instructions(key)?;
        let is_new = |tool: &&Definition| {
            let offers = |mode: &str| self.server_tools(mode).contains(&tool.name);
            before.is_some_and(|before| offers(key) && !offers(before))
        };
        let usage = usage_metadata_block(self.tools.iter().filter(is_new));
        Some([Some(instructions), usage].into_iter().flatten().collect::<Vec<_>>().join("\n\n"))
    }

    /// Renders the instructions of one mode. `None` for an unknown key.
    ///
    /// A mode without instructions is rendered too, since the text ends the instructions of the previous mode.
    #[must_use]
    pub fn instructions(&self, key: &str) -> Option<String> {
        self.get(key).map(prompt::instructions)
    }
}
