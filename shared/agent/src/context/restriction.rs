//! Restrictions of an org on its turns: its policy, and what its operators have disabled.
//!
//! What a request or its contexts name is refused. What a turn could do without is left out: fallbacks, and the server
//! tools of modes. Tools of clients and embedding models aren't restricted.

use contracts::{
    id::UserId,
    request::{DisabledSubjects, OrgPolicy, OrgSettings, UserTurn},
};

use super::ResolvedContext;
use crate::{
    model::{providers::Providers, route::Route},
    tool::{
        AGENT_CHANGE_MODE, ExecutedBy,
        approval::{ApprovalMode, ApprovalPolicy},
        remote::RemoteTool,
    },
};

/// A restriction that refuses a turn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Restriction {
    /// The org is disabled.
    #[error("The org is disabled")]
    OrgDisabled,
    /// The user is disabled.
    #[error("The user {0} is disabled")]
    UserDisabled(String),
    /// The agent is disabled.
    #[error("The agent {0} is disabled")]
    AgentDisabled(String),
    /// The model is disabled.
    #[error("The model {0} is disabled")]
    ModelDisabled(String),
    /// The policy doesn't allow the model.
    #[error("The org's policy doesn't allow the model {0}")]
    Model(String),
    /// The policy doesn't allow the provider.
    #[error("The org's policy doesn't allow the model provider {0}")]
    Provider(String),
    /// The policy doesn't allow the tool.
    #[error("The org's policy doesn't allow the tool {0}")]
    Tool(String),
    /// A budget of money can't count the cost of the model.
    #[error("The {budget} can't count the model {model}, which has {}", named_price(.found.as_ref(), .currency))]
    Unpriced {
        /// The budget in words.
        budget: String,
        /// The model.
        model: String,
        /// The currency of the budget.
        currency: String,
        /// The currency of the model's prices, if it has any.
        found: Option<String>,
    },
    /// A file or an image is larger than the policy allows.
    #[error("The org's policy allows files of at most {most} bytes, and {name} has {bytes}")]
    File {
        /// The path of the file, or the id of the image.
        name: String,
        /// Its size.
        bytes: u64,
        /// The allowed size.
        most: u64,
    },
}

impl Restriction {
    /// True if an operator has disabled something, and false for the policy.
    #[must_use]
    pub fn is_disabled(&self) -> bool {
        match self {
            Self::OrgDisabled | Self::UserDisabled(_) | Self::AgentDisabled(_) | Self::ModelDisabled(_) => {
                true
            }
            Self::Model(_)
            | Self::Provider(_)
            | Self::Tool(_)
            | Self::Unpriced { .. }
            | Self::File { .. } => false,
        }
    }

    /// The name of what is restricted. `None` for the org.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::OrgDisabled => None,
            Self::UserDisabled(name)
            | Self::AgentDisabled(name)
            | Self::ModelDisabled(name)
            | Self::Model(name)
            | Self::Provider(name)
            | Self::Tool(name)
            | Self::Unpriced { model: name, .. }
            | Self::File { name, .. } => Some(name),
        }
    }
}

/// Describes the price that a model lacks in a currency.
#[must_use]
pub fn named_price(found: Option<&String>, currency: &str) -> String {
    match found {
        Some(found) => format!("prices in {found} and none in {currency}"),
        None => format!("no price in {currency}"),
    }
}

/// Requires that the org, the user and the agents of a turn aren't disabled.
///
/// # Errors
/// Returns the first that is.
pub fn check_disabled(
    disabled: &DisabledSubjects,
    user: &UserId,
    agents: &[String],
) -> Result<(), Restriction> {
    if disabled.org {
        return Err(Restriction::OrgDisabled);
    }
    if disabled.users.contains(user) {
        return Err(Restriction::UserDisabled(user.to_string()));
    }
    match agents.iter().find(|agent| disabled.agents.iter().any(|disabled| disabled.as_str() == *agent)) {
        Some(agent) => Err(Restriction::AgentDisabled(agent.clone())),
        None => Ok(()),
    }
}

/// Requires that the files and images of a request are as small as the policy says.
///
/// # Errors
/// Returns the first that is larger.
pub fn check_files(policy: &OrgPolicy, request: &UserTurn) -> Result<(), Restriction> {
    let Some(most) = policy.max_file_bytes else { return Ok(()) };
    let files = request.input_artifacts.iter();
    let files = files.map(|file| (file.relative_path.as_str(), file.contents.as_bytes().len()));
    let images = request.clipboard_images.iter().map(|image| (image.id.as_str(), image.bytes.len()));
    let mut sizes = files.chain(images).map(|(name, bytes)| (name, u64::try_from(bytes).unwrap_or(u64::MAX)));
    match sizes.find(|(_, bytes)| *bytes > most) {
        Some((name, bytes)) => Err(Restriction::File { name: name.to_owned(), bytes, most }),
        None => Ok(()),
    }
}

/// Requires that a model may answer.
///
/// # Errors
/// Returns the reason why it may not.
pub fn check_model(settings: &OrgSettings, model: &str) -> Result<(), Restriction> {
    if settings.disabled.models.iter().any(|disabled| disabled == model) {
        return Err(Restriction::ModelDisabled(model.to_owned()));
    }
    match includes(settings.policy.models.as_ref(), model) {
        true => Ok(()),
        false => Err(Restriction::Model(model.to_owned())),
    }
}

/// Requires that a model of a provider may answer.
///
/// # Errors
/// Returns the reason why it may not.
pub fn check_route(settings: &OrgSettings, providers: &Providers, route: &Route) -> Result<(), Restriction> {
    check_model(settings, &route.model)?;
    let provider = providers.display_name(route.provider.as_deref());
    match includes(settings.policy.providers.as_ref(), &provider) {
        true => Ok(()),
        false => Err(Restriction::Provider(provider)),
    }
}

/// True if a list of a policy allows a name.
fn includes(list: Option<&Vec<String>>, name: &str) -> bool {
    list.is_none_or(|list| list.iter().any(|allowed| allowed == name))
}

impl ResolvedContext {
    /// Requires that the org's settings allow the model, its provider and the tools that the contexts name.
    ///
    /// # Errors
    /// Returns the first restriction.
    pub fn check(&self, settings: &OrgSettings, providers: &Providers) -> Result<(), Restriction> {
        check_route(settings, providers, &self.route)?;
        let tools = settings.policy.tools.as_ref();
        let forbidden = self.named_server_tools().find(|name| !allows_tool(tools, name));
        let forbidden = forbidden.or_else(|| {
            let is_allowed = |name: &str| {
                let (connection, tool) = name.split_once('.').unwrap_or((name, ""));
                allows_remote(tools, connection, tool)
            };
            self.tools.iter().map(String::as_str).find(|name| !is_allowed(name))
        });
        forbidden.map_or(Ok(()), |name| Err(Restriction::Tool(name.to_owned())))
    }

    /// Leaves out the fallbacks and tools that the org's settings don't allow.
    #[must_use]
    pub fn restrict(mut self, settings: &OrgSettings, providers: &Providers) -> Self {
        let tools = settings.policy.tools.as_ref();
        self.fallbacks.retain(|route| check_route(settings, providers, route).is_ok());
        self.settings.hosted_tools.retain(|tool| allows_tool(tools, tool.type_name()));
        self.settings.web_search.take_if(|_| !allows_tool(tools, "web_search"));
        self.client_tools
            .retain(|tool| tool.executed_by == ExecutedBy::Client || allows_tool(tools, &tool.name));
        self.remote_tools.retain(|tool| allows_remote(tools, &tool.connection, tool.tool_name()));
        self.remote_tools.iter_mut().for_each(|tool| require_approval(settings, tool));
        self.allowed_tools = tools.cloned();
        self
    }

    /// True if the server may offer the tool of this name.
    #[must_use]
    pub fn allows_tool(&self, name: &str) -> bool {
        allows_tool(self.allowed_tools.as_ref(), name)
    }

    /// Returns the tools that the contexts name and that don't run in the client.
    fn named_server_tools(&self) -> impl Iterator<Item = &str> {
        let (by_client, by_server): (Vec<_>, Vec<_>) =
            self.client_tools.iter().partition(|tool| tool.executed_by == ExecutedBy::Client);
        let choice = self.tool_choice.as_deref();
        let choice = choice.filter(|name| !by_client.iter().any(|tool| tool.name == *name));
        let hosted = self.settings.hosted_tools.iter().map(|tool| tool.type_name());
        hosted.chain(by_server.into_iter().map(|tool| tool.name.as_str())).chain(choice)
    }
}

/// True if a list of a policy allows a tool of a connection, by the connection's id or by the tool's full name.
fn allows_remote(allowed: Option<&Vec<String>>, connection: &str, tool: &str) -> bool {
    includes(allowed, connection) || includes(allowed, &format!("{connection}.{tool}"))
}

/// Has a person approve every call of the tool if the org's policy says so. What the connection says of the answer holds;
/// that nobody is asked doesn't.
pub fn require_approval(settings: &OrgSettings, tool: &mut RemoteTool) {
    if requires_approval(settings.policy.require_approval.as_ref(), tool) {
        let own = tool.terms.approval.take().filter(|own| own.policy != ApprovalMode::Never);
        let own = own.unwrap_or_else(ApprovalPolicy::always);
        tool.terms.approval = Some(ApprovalPolicy { policy: ApprovalMode::Always, when: Vec::new(), ..own });
    }
}

/// True if a person has to approve every call of the tool.
fn requires_approval(asked: Option<&Vec<String>>, tool: &RemoteTool) -> bool {
    let name = format!("{}.{}", tool.connection, tool.tool_name());
    let is_asked = |asked: &String| asked == "*" || *asked == tool.connection || *asked == name;
    asked.is_some_and(|list| list.iter().any(is_asked))
}

fn allows_tool(allowed: Option<&Vec<String>>, name: &str) -> bool {
    name == AGENT_CHANGE_MODE || includes(allowed, name)
}

#[cfg(test)]
mod tests {
    use contracts::AgentExecuteRequest;
    use protocol::chain::ConversationStatePolicy;

    use super::*;
    use crate::{
        context::defaults,
        model::hosted_tools::{HostedTool, WebSearch},
    };

    fn settings(body: &str) -> OrgSettings {
        OrgSettings::parse(body.as_bytes()).unwrap()
    }

    fn resolved() -> ResolvedContext {
        let defaults = defaults().unwrap();
        ResolvedContext::resolve(None, None, &defaults, ("m1", ConversationStatePolicy::default()))
    }

    fn providers() -> Providers {
        let named = [("bedrock".to_owned(), "bedrock@aws".to_owned())].into();
        Providers { named, ..Providers::single("api.host") }
    }

    fn route(provider: Option<&str>, model: &str) -> Route {
        Route { provider: provider.map(str::to_owned), model: model.to_owned(), prices: None }
    }

    #[test]
    fn org_precedes_user_and_user_precedes_agent() {
        let (eve, ada) = (UserId::new("eve").unwrap(), UserId::new("ada").unwrap());
        let disabled = settings(r#"{"Disabled":{"Users":["eve"],"Agents":["default"]}}"#).disabled;
        let of = |disabled: &DisabledSubjects, user, agent: &str| {
            check_disabled(disabled, user, &["first".to_owned(), agent.to_owned()])
        };
        assert_eq!(of(&disabled, &eve, "default"), Err(Restriction::UserDisabled("eve".to_owned())));
        assert_eq!(of(&disabled, &ada, "default"), Err(Restriction::AgentDisabled("default".to_owned())));
        assert_eq!(of(&disabled, &ada, "other"), Ok(()));
        let all = DisabledSubjects { org: true, ..disabled };
        assert_eq!(of(&all, &eve, "other"), Err(Restriction::OrgDisabled));
        assert_eq!(Restriction::OrgDisabled.name(), None);
    }

    #[test]
    fn model_and_provider_are_refused_by_name() {
        let check =
            |body: &str, route| ResolvedContext { route, ..resolved() }.check(&settings(body), &providers());
        let other = || route(Some("bedrock"), "m2");
        for (body, route, expected) in [
            ("{}", other(), Ok(())),
            (r#"{"Policy":{"Models":["m1"]}}"#, route(None, "m1"), Ok(())),
            (r#"{"Policy":{"Models":["m1"]}}"#, other(), Err(Restriction::Model("m2".to_owned()))),
            (r#"{"Policy":{"Models":[]}}"#, other(), Err(Restriction::Model("m2".to_owned()))),
            (r#"{"Disabled":{"Models":["m2"]}}"#, other(), Err(Restriction::ModelDisabled("m2".to_owned()))),
            (r#"{"Policy":{"Providers":["bedrock"]}}"#, other(), Ok(())),
            (
                r#"{"Policy":{"Providers":["bedrock"]}}"#,
                route(None, "m1"),
                Err(Restriction::Provider("api.host".to_owned())),
            ),
        ] {
            assert_eq!(check(body, route), expected, "{body}");
        }
    }

    #[test]
    fn tools_that_contexts_name_are_refused_and_others_left_out() {
        let settings = settings(r#"{"Policy":{"Tools":["publish_file"]}}"#);
        let mut context = resolved();
        assert_eq!(context.check(&settings, &providers()), Ok(()));
        let search = HostedTool::WebSearch(WebSearch::default());
        context.settings.hosted_tools = vec![search];
        let refused = Err(Restriction::Tool("web_search".to_owned()));
        assert_eq!(context.check(&settings, &providers()), refused);
        let context = context.restrict(&settings, &providers());
        assert!(context.settings.hosted_tools.is_empty());
        assert!(context.allows_tool("publish_file") && context.allows_tool(AGENT_CHANGE_MODE));
        assert!(!context.allows_tool("code_hash_normalized"));
        let chosen = ResolvedContext { tool_choice: Some("code_hash_normalized".to_owned()), ..resolved() };
        let refused = Err(Restriction::Tool("code_hash_normalized".to_owned()));
        assert_eq!(chosen.check(&settings, &providers()), refused);
    }

    #[test]
    fn forbidden_fallbacks_are_skipped() {
        let routes = || vec![route(None, "m2"), route(Some("bedrock"), "m3"), route(None, "m4")];
        let fallbacks = |body: &str| {
            let context = ResolvedContext { fallbacks: routes(), ..resolved() };
            let context = context.restrict(&settings(body), &providers());
            context.fallbacks.into_iter().map(|route| route.model).collect::<Vec<_>>()
        };
        assert_eq!(fallbacks("{}"), ["m2", "m3", "m4"]);
        assert_eq!(fallbacks(r#"{"Policy":{"Models":["m1","m4"]}}"#), ["m4"]);
        assert_eq!(
            fallbacks(r#"{"Policy":{"Providers":["api.host"]},"Disabled":{"Models":["m2"]}}"#),
            ["m4"]
        );
    }

    #[test]
    fn largest_file_may_have_exactly_the_allowed_size() {
        let body = br#"{"SessionId":"s","TurnId":"t","Instruction":"x","InputArtifacts":[{"RelativePath":"a.txt","FileName":"a.txt","Contents":"1234","Origin":"ide"}]}"#;
        let AgentExecuteRequest::UserTurn(request) = AgentExecuteRequest::parse(body).unwrap() else {
            unreachable!("it is a user turn");
        };
        let check = |most: u64| {
            check_files(&OrgPolicy { max_file_bytes: Some(most), ..OrgPolicy::default() }, &request)
        };
        assert_eq!(check(4), Ok(()));
        assert_eq!(check(3), Err(Restriction::File { name: "a.txt".to_owned(), bytes: 4, most: 3 }));
        assert_eq!(check_files(&OrgPolicy::default(), &request), Ok(()));
    }
}
