//! The routes, as `template.yaml` declares them on AWS.

use axum::http::Method;
use contracts::paths;

use crate::function::Function;

/// A resource of the REST API: its path as API Gateway writes it, and the function of each method.
struct Resource(&'static str, &'static [(&'static str, Function)]);

/// The functions of a context or a mode.
const CONTEXT: &[(&str, Function)] =
    &[("GET", Function::SessionRead), ("PUT", Function::Execute), ("DELETE", Function::Execute)];

const RESOURCES: [Resource; 49] = [
    Resource(paths::EXECUTE, &[("POST", Function::Execute)]),
    Resource(paths::TOOL_RESULTS, &[("POST", Function::ToolContinuation)]),
    Resource(paths::SESSIONS, &[("GET", Function::SessionRead)]),
    Resource(paths::SEARCH, &[("GET", Function::SessionRead)]),
    Resource(paths::EXPORT, &[("GET", Function::SessionRead)]),
    Resource(paths::IMPORT, &[("POST", Function::Execute)]),
    Resource(paths::USAGE, &[("GET", Function::SessionRead)]),
    Resource(paths::BUDGETS, &[("GET", Function::SessionRead), ("PUT", Function::Execute)]),
    Resource(paths::BUDGET_USE, &[("GET", Function::SessionRead)]),
    Resource(paths::ORG_SETTINGS, &[("GET", Function::SessionRead), ("PUT", Function::Execute)]),
    Resource(paths::SESSION_EXPORT.template(), &[("GET", Function::SessionRead)]),
    Resource(
        paths::SESSION.template(),
        &[("GET", Function::SessionRead), ("PATCH", Function::Execute), ("DELETE", Function::Execute)],
    ),
    Resource(paths::RESTORE.template(), &[("POST", Function::Execute)]),
    Resource(paths::QUARANTINE.template(), &[("POST", Function::Execute)]),
    Resource(paths::RELEASE.template(), &[("POST", Function::Execute)]),
    Resource(paths::PURGE.template(), &[("GET", Function::SessionRead)]),
    Resource(paths::MODE_HISTORY.template(), &[("GET", Function::SessionRead)]),
    Resource(paths::FORK.template(), &[("POST", Function::Execute)]),
    Resource(paths::TURNS.template(), &[("GET", Function::SessionRead)]),
    Resource(paths::LAST_TURN.template(), &[("GET", Function::SessionRead)]),
    Resource(paths::TURN.template(), &[("GET", Function::SessionRead)]),
    Resource(paths::SUMMARY.template(), &[("GET", Function::SessionRead)]),
    Resource(paths::STEPS.template(), &[("GET", Function::SessionRead)]),
    Resource(paths::RECORDS.template(), &[("GET", Function::SessionRead)]),
    Resource(paths::STREAM.template(), &[("GET", Function::SessionRead)]),
    Resource(paths::PAYLOADS, &[("GET", Function::SessionRead)]),
    Resource(paths::CANCEL.template(), &[("POST", Function::Execute)]),
    Resource(paths::ABANDON.template(), &[("POST", Function::Execute)]),
    Resource(paths::SETTLE.template(), &[("POST", Function::Execute)]),
    Resource(paths::FEEDBACK.template(), &[("GET", Function::SessionRead), ("PUT", Function::Execute)]),
    Resource(paths::RERUN.template(), &[("POST", Function::Execute)]),
    Resource(paths::AGENTS.list, &[("GET", Function::SessionRead)]),
    Resource(paths::AGENTS.context, CONTEXT),
    Resource(paths::AGENTS.versions, &[("GET", Function::SessionRead)]),
    Resource(paths::AGENTS.version, &[("GET", Function::SessionRead)]),
    Resource(paths::AGENTS.rollback, &[("POST", Function::Execute)]),
    Resource(paths::AGENT_ROLLOUT, &[("PUT", Function::Execute)]),
    Resource(paths::CONVERSATION_CONTEXTS.list, &[("GET", Function::SessionRead)]),
    Resource(paths::CONVERSATION_CONTEXTS.context, CONTEXT),
    Resource(paths::CONVERSATION_CONTEXTS.versions, &[("GET", Function::SessionRead)]),
    Resource(paths::CONVERSATION_CONTEXTS.version, &[("GET", Function::SessionRead)]),
    Resource(paths::CONVERSATION_CONTEXTS.rollback, &[("POST", Function::Execute)]),
    Resource(paths::CONVERSATION_CONTEXT_ROLLOUT, &[("PUT", Function::Execute)]),
    Resource(paths::MODES.list, &[("GET", Function::SessionRead)]),
    Resource(paths::MODES.context, CONTEXT),
    Resource(paths::MODES.versions, &[("GET", Function::SessionRead)]),
    Resource(paths::MODES.version, &[("GET", Function::SessionRead)]),
    Resource(paths::MODES.rollback, &[("POST", Function::Execute)]),
    Resource(
        paths::OPENAI,
        &[("GET", Function::SessionRead), ("POST", Function::Execute), ("DELETE", Function::Execute)],
    ),
];

/// A request's route.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// The resource's template.
    pub(crate) resource: &'static str,
    /// The function that handles it.
    pub(crate) function: Function,
    /// Path parameters, in their encoded form.
    pub(crate) parameters: Vec<(String, String)>,
}

/// Result of a lookup.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Match {
    /// A route.
    Route(Route),
    /// The path exists, but only with these methods.
    OtherMethods(Vec<&'static str>),
    /// The path does not exist.
    Unknown,
}

/// The routing table. A literal segment wins over a parameter, and a parameter over a greedy one; matchit and API
/// Gateway agree on that.
pub(crate) struct Routes(matchit::Router<&'static Resource>);

impl Routes {
    pub(crate) fn new() -> Result<Self, matchit::InsertError> {
        let mut router = matchit::Router::new();
        for resource in &RESOURCES {
            router.insert(resource.0.replace("{proxy+}", "{*proxy}"), resource)?;
        }
        Ok(Self(router))
    }

    /// Finds the route of a request.
    pub(crate) fn find(&self, method: &Method, path: &str) -> Match {
        let Ok(matchit::Match { value: Resource(resource, functions), params }) = self.0.at(path) else {
            return Match::Unknown;
        };
        // Matchit accepts `//` as a parameter with an empty value; an id is never empty.
        if params.iter().any(|(_, value)| value.is_empty()) {
            return Match::Unknown;
        }
        let Some((_, function)) = functions.iter().find(|(allowed, _)| *allowed == method.as_str()) else {
            return Match::OtherMethods(functions.iter().map(|(allowed, _)| *allowed).collect());
        };
        let parameters = params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Match::Route(Route { resource, function: *function, parameters })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn find(method: &Method, path: &str) -> Match {
        Routes::new().unwrap().find(method, path)
    }

    fn route(method: Method, path: &str) -> Route {
        match find(&method, path) {
            Match::Route(route) => route,
            other => panic!("{method} {path}: {other:?}"),
        }
    }

    fn parameters(all: &[(&str, &str)]) -> Vec<(String, String)> {
        all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// Returns the routes that `template.yaml` deploys, as (path, method, function).
    fn deployed() -> BTreeSet<(String, String, String)> {
        let template = include_str!("../../../../template.yaml");
        let template: yaml_serde::Value = yaml_serde::from_str(template).unwrap();
        let mut routes = BTreeSet::new();
        for (function, resource) in template["Resources"].as_mapping().unwrap() {
            let Some(events) = resource["Properties"]["Events"].as_mapping() else { continue };
            for event in events.values().filter(|event| event["Type"] == "Api") {
                let text = |name: &str| event["Properties"][name].as_str().unwrap().to_owned();
                routes.insert((text("Path"), text("Method"), function.as_str().unwrap().to_owned()));
            }
        }
        routes
    }

    #[test]
    fn routes_match_deployed_template() {
        let mut routes = BTreeSet::new();
        for Resource(path, functions) in &RESOURCES {
            for (method, function) in *functions {
                routes.insert(((*path).to_owned(), (*method).to_owned(), function.resource().to_owned()));
            }
        }
        assert_eq!(routes, deployed());
    }

    #[test]
    fn literal_segment_wins_over_parameter() {
        let last = route(Method::GET, "/api/ai/agent/sessions/s1/turns/last");
        assert_eq!(
            (last.resource, last.parameters),
            (paths::LAST_TURN.template(), parameters(&[("SessionId", "s1")]))
        );
        let turn = route(Method::GET, "/api/ai/agent/sessions/s1/turns/t1");
        assert_eq!(turn.resource, paths::TURN.template());
        // There is no literal segment below it, so `last` is a turn id.
        let summary = route(Method::GET, "/api/ai/agent/sessions/s1/turns/last/summary");
        assert_eq!(summary.parameters, parameters(&[("SessionId", "s1"), ("TurnId", "last")]));
    }

    #[test]
    fn greedy_parameter_takes_rest_of_path() {
        let payload = route(Method::GET, "/api/ai/agent/sessions/s/turns/t/payloads/files/ab/x%20y.rs");
        let all = [("SessionId", "s"), ("TurnId", "t"), ("proxy", "files/ab/x%20y.rs")];
        assert_eq!((payload.resource, payload.parameters), (paths::PAYLOADS, parameters(&all)));
    }

    #[test]
    fn methods_of_one_resource_reach_different_functions() {
        assert_eq!(route(Method::GET, "/api/ai/agent/sessions/s").function, Function::SessionRead);
        assert_eq!(route(Method::PATCH, "/api/ai/agent/sessions/s").function, Function::Execute);
    }

    #[test]
    fn wrong_method_lists_allowed_methods() {
        assert_eq!(
            find(&Method::PUT, "/api/ai/agent/sessions/s"),
            Match::OtherMethods(vec!["GET", "PATCH", "DELETE"])
        );
    }

    #[test]
    fn other_paths_are_unknown() {
        for path in [
            "/",
            "/api/ai/agent",
            "/api/ai/agent/sessions/",
            "/api/ai/agent/sessions//turns/t",
            "/api/ai/agent/sessions/s/turns/",
            "/api/ai/agent/sessions/s/turns/t/payloads",
            "/api/ai/agent/sessions/s/turns/t/payloads/",
            "/api/ai/agent/execute/x",
        ] {
            assert_eq!(find(&Method::GET, path), Match::Unknown, "{path}");
        }
    }
}
