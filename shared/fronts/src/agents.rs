//! The agents that clients of any protocol may choose.

use agent::context::{BUILT_IN_NAME, built_in_agent_name};
use contracts::{id::AgentContextId, request::OrgSettings};
use turns::ports::AgentEntry;

/// The agents that every org has, unless it has its own under the same id. Sorted.
pub const BUILT_IN_AGENTS: [&str; 2] = ["default", "workspace"];

/// An agent that a client may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OfferedAgent<'a> {
    /// The id.
    pub id: &'a str,
    /// The display name.
    pub name: &'a str,
    /// The purpose, if the org has given it one.
    pub description: Option<&'a str>,
}

/// A page of an org's own agents, sorted by id.
#[derive(Debug, Clone, Copy)]
pub struct OwnAgents<'a> {
    /// The agents.
    pub page: &'a [AgentEntry],
    /// The id that the page begins after.
    pub after: Option<&'a AgentContextId>,
    /// True if another page follows.
    pub has_more: bool,
}

/// Returns the agents of a page that a client may choose, sorted by id: the org's own and the built-in ones among them,
/// unless they are deprecated or disabled.
#[must_use]
pub fn offered<'a>(own: OwnAgents<'a>, settings: &OrgSettings) -> Vec<OfferedAgent<'a>> {
    let last = own.page.last().filter(|_| own.has_more);
    let is_on_page = |id: &str| {
        own.after.is_none_or(|after| after.as_str() < id)
            && last.is_none_or(|last| id <= last.id.as_str())
            && own.page.iter().all(|agent| agent.id.as_str() != id)
    };
    let built_in = BUILT_IN_AGENTS.into_iter().filter(|id| is_on_page(id));
    let built_in = built_in.map(|id| OfferedAgent { id, name: built_in_name(id), description: None });
    let current = own.page.iter().filter(|agent| !agent.is_deprecated);
    let current = current.map(|AgentEntry { id, name, description, .. }| OfferedAgent {
        id: id.as_str(),
        name,
        description: description.as_deref(),
    });
    let mut agents: Vec<_> =
        built_in.chain(current).filter(|agent| allows_agent(settings, agent.id)).collect();
    agents.sort_by_key(|agent| agent.id);
    agents
}

fn built_in_name(id: &str) -> &'static str {
    let id = AgentContextId::new(id).ok();
    id.and_then(|id| built_in_agent_name(&id)).unwrap_or(BUILT_IN_NAME)
}

/// True if neither the org nor the agent is disabled.
#[must_use]
pub fn allows_agent(settings: &OrgSettings, agent: &str) -> bool {
    let disabled = &settings.disabled;
    !disabled.org && disabled.agents.iter().all(|disabled| disabled.as_str() != agent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: &str, is_deprecated: bool) -> AgentEntry {
        let id = AgentContextId::new(id).unwrap();
        let name = id.to_string();
        AgentEntry { id, name, description: None, is_deprecated, default_conversation: None, rollout: None }
    }

    #[test]
    fn pages_have_each_agent_once() {
        let settings = OrgSettings::default();
        let own = ["a", "e", "workspace", "z"].map(|id| entry(id, id == "e"));
        let all = [("a", "a"), ("default", "Default"), ("workspace", "workspace"), ("z", "z")];
        for size in 1..=5 {
            let mut found = Vec::new();
            let (mut rest, mut after) = (own.as_slice(), None);
            loop {
                let (page, next) = rest.split_at(size.min(rest.len()));
                let has_more = page.len() == size;
                found.extend(offered(OwnAgents { page, after, has_more }, &settings));
                (rest, after) = (next, page.last().map(|last| &last.id));
                if !has_more {
                    break;
                }
            }
            let found: Vec<_> = found.iter().map(|agent| (agent.id, agent.name)).collect();
            assert_eq!(found, all, "{size}");
        }
    }

    #[test]
    fn disabled_agents_are_not_offered() {
        let mut settings = OrgSettings::default();
        settings.disabled.agents = vec![AgentContextId::built_in()];
        let none = OwnAgents { page: &[], after: None, has_more: false };
        assert_eq!(
            offered(none, &settings),
            [OfferedAgent { id: "workspace", name: "Workspace", description: None }]
        );
        settings.disabled.org = true;
        assert_eq!(offered(none, &settings), []);
    }
}
