//! The routes, as `template.yaml` declares them on AWS.

use axum::http::Method;

use crate::lambda::Function;

/// One row of the HTTP surface: method, resource, function. `{name+}` takes the rest of the path.
struct Row(&'static str, &'static str, Function);

const SESSION: &str = "/api/ai/agent/sessions/{SessionId}";

const ROWS: [Row; 13] = [
    Row("POST", "/api/ai/agent/execute", Function::Execute),
    Row("POST", "/api/ai/agent/tool-results", Function::ToolContinuation),
    Row("GET", "/api/ai/agent/sessions", Function::SessionRead),
    Row("GET", SESSION, Function::SessionRead),
    Row("PATCH", SESSION, Function::Execute),
    Row("DELETE", SESSION, Function::Execute),
    Row("GET", "/api/ai/agent/sessions/{SessionId}/turns/last", Function::SessionRead),
    Row("GET", "/api/ai/agent/sessions/{SessionId}/turns/{TurnId}", Function::SessionRead),
    Row("GET", "/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/summary", Function::SessionRead),
    Row("GET", "/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/stream", Function::SessionRead),
    Row("GET", "/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/payloads/{proxy+}", Function::SessionRead),
    Row("POST", "/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/cancel", Function::Execute),
    Row("POST", "/api/ai/agent/sessions/{SessionId}/turns/{TurnId}/rerun", Function::Execute),
];

/// A request's route.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// The resource's template.
    pub(crate) resource: &'static str,
    /// Who answers.
    pub(crate) function: Function,
    /// The template's parameters, as the path spells them.
    pub(crate) parameters: Vec<(&'static str, String)>,
}

/// What the table says about a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Match {
    /// A route.
    Route(Route),
    /// The path is known, with these methods only.
    OtherMethods(Vec<&'static str>),
    /// The path is not known.
    Unknown,
}

/// Finds the route of a request. A literal segment wins over a parameter.
pub(crate) fn find(method: &Method, path: &str) -> Match {
    let matching: Vec<_> = ROWS.iter().filter_map(|row| Some((row, parameters(row.1, path)?))).collect();
    let Some(fewest) = matching.iter().map(|(_, parameters)| parameters.len()).min() else {
        return Match::Unknown;
    };
    let mut methods = Vec::new();
    for (Row(allowed, resource, function), parameters) in matching {
        if parameters.len() > fewest {
            continue;
        }
        if *allowed == method.as_str() {
            return Match::Route(Route { resource, function: *function, parameters });
        }
        methods.push(*allowed);
    }
    Match::OtherMethods(methods)
}

/// The parameters of a path that fits a template.
fn parameters(template: &'static str, path: &str) -> Option<Vec<(&'static str, String)>> {
    let mut found = Vec::new();
    let mut segments = path.split('/');
    for part in template.split('/') {
        let name = part.strip_prefix('{').and_then(|part| part.strip_suffix('}'));
        match name.map(|name| (name, name.strip_suffix('+'))) {
            Some((_, Some(greedy))) => {
                let rest = segments.by_ref().collect::<Vec<_>>().join("/");
                found.push((greedy, Some(rest).filter(|rest| !rest.is_empty())?));
            }
            Some((name, None)) => {
                let segment = segments.next().filter(|segment| !segment.is_empty())?;
                found.push((name, segment.to_owned()));
            }
            None if segments.next() != Some(part) => return None,
            None => {}
        }
    }
    segments.next().is_none().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(method: Method, path: &str) -> Route {
        match find(&method, path) {
            Match::Route(route) => route,
            other => panic!("{method} {path}: {other:?}"),
        }
    }

    #[test]
    fn a_literal_segment_wins_over_a_parameter() {
        let last = route(Method::GET, "/api/ai/agent/sessions/s1/turns/last");
        assert_eq!(last.parameters, [("SessionId", "s1".to_owned())]);
        let turn = route(Method::GET, "/api/ai/agent/sessions/s1/turns/t1");
        assert_eq!(turn.resource, "/api/ai/agent/sessions/{SessionId}/turns/{TurnId}");
    }

    #[test]
    fn a_greedy_parameter_takes_the_rest() {
        let payload = route(Method::GET, "/api/ai/agent/sessions/s/turns/t/payloads/files/ab/x%20y.rs");
        assert_eq!(payload.parameters.last(), Some(&("proxy", "files/ab/x%20y.rs".to_owned())));
    }

    #[test]
    fn methods_of_one_resource_go_to_different_functions() {
        assert_eq!(route(Method::GET, "/api/ai/agent/sessions/s").function, Function::SessionRead);
        assert_eq!(route(Method::PATCH, "/api/ai/agent/sessions/s").function, Function::Execute);
    }

    #[test]
    fn a_wrong_method_names_the_right_ones() {
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
            "/api/ai/agent/sessions/s/turns",
            "/api/ai/agent/execute/x",
        ] {
            assert_eq!(find(&Method::GET, path), Match::Unknown, "{path}");
        }
    }
}
