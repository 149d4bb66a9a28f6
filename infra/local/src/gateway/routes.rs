//! The routes, which the contract lists and `template.yaml` declares on AWS.

use std::collections::BTreeMap;

use axum::http::Method;
use contracts::operations;

use crate::function::Function;

/// A resource of the REST API: its path as API Gateway writes it, and the function of each method.
struct Resource(&'static str, Vec<(&'static str, Function)>);

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
pub(crate) struct Routes(matchit::Router<Resource>);

impl Routes {
    pub(crate) fn new() -> Result<Self, matchit::InsertError> {
        let mut resources: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for route in operations::routes() {
            let function = Function::from(route.function());
            resources.entry(route.path).or_default().push((route.method.as_str(), function));
        }
        let mut router = matchit::Router::new();
        for (path, functions) in resources {
            router.insert(path.replace("{proxy+}", "{*proxy}"), Resource(path, functions))?;
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
    use contracts::{operations::TURN_PARTS, paths};

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
        let all = [("SessionId", "s1"), ("TurnId", "last"), ("proxy", "summary")];
        assert_eq!(summary.parameters, parameters(&all));
    }

    #[test]
    fn greedy_parameter_takes_rest_of_path() {
        let payload = route(Method::GET, "/api/ai/agent/sessions/s/turns/t/payloads/files/ab/x%20y.rs");
        let all = [("SessionId", "s"), ("TurnId", "t"), ("proxy", "payloads/files/ab/x%20y.rs")];
        assert_eq!((payload.resource, payload.parameters), (TURN_PARTS, parameters(&all)));
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
            "/api/ai/agent/sessions/s/feedback",
            "/api/ai/agent/execute/x",
        ] {
            assert_eq!(find(&Method::GET, path), Match::Unknown, "{path}");
        }
    }
}
