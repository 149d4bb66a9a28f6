//! Validation of contexts against what a deployment has.

use serde_json::{Map, Value};

use super::{ContextId, Document, limits::MAX_FILE_BYTES, parse};
use crate::{
    fault::{FaultCollector, Faults},
    mode::Catalog,
    model::providers::DeclaredProvider,
};

/// The path of the document in the faults of [`Rules::parse_document`].
pub const DOCUMENT: &str = "context";

/// The names that contexts may refer to: modes, and the server tools and providers of a deployment.
#[derive(Debug, Clone)]
pub struct Rules<'a> {
    /// The modes: the built-in modes, and the other modes of the org.
    pub catalog: &'a Catalog,
    /// The names of the server's tools.
    pub server_tools: Vec<&'a str>,
    /// The providers.
    pub providers: Vec<DeclaredProvider>,
}

impl Rules<'_> {
    /// Parses a JSON object that is one context, or an array of them, as an operator writes them to a file.
    ///
    /// # Errors
    /// Returns every fault at once, in shape and in content.
    pub fn parse_file(&self, json: &str) -> Result<Vec<Document>, Faults> {
        let documents = parse::parse_documents(json, self.catalog, &self.server_tools, &self.providers)?;
        let mut faults = FaultCollector::default();
        for (number, document) in documents.iter().enumerate() {
            check_id(&document.context_id(), &format!("contexts[{number}]"), &mut faults);
        }
        faults.finish().map(|()| documents)
    }

    /// Parses a JSON object that is the context with this id. `Kind` and `Id`, or `Key` of a mode, may be left out.
    ///
    /// # Errors
    /// Returns every fault at once. Their paths begin with [`DOCUMENT`].
    pub fn parse_document(&self, id: &ContextId, json: &str) -> Result<Document, Faults> {
        let mut faults = FaultCollector::default();
        check_id(id, DOCUMENT, &mut faults);
        let document = with_identity(id, json, &mut faults).and_then(|json| {
            parse::parse_context(&json, DOCUMENT, &mut faults).inspect(|document| {
                parse::check(
                    document,
                    self.catalog,
                    &self.server_tools,
                    &self.providers,
                    DOCUMENT,
                    &mut faults,
                );
            })
        });
        faults.finish()?;
        document.ok_or_else(|| Faults::single(DOCUMENT, "must be a JSON object"))
    }
}

fn check_id(id: &ContextId, at: &str, faults: &mut FaultCollector) {
    let what = format_args!("{:?} is reserved for the built-in {} context", id.as_str(), id.kind().name());
    faults.require(!id.is_reserved(), format!("{at}.Id"), what);
}

/// Returns the document with its kind and id. The rest of the text stays as it is, so that duplicate members are
/// still found.
fn with_identity(id: &ContextId, json: &str, faults: &mut FaultCollector) -> Option<String> {
    if json.len() > MAX_FILE_BYTES {
        faults.add(DOCUMENT, format_args!("must have at most {MAX_FILE_BYTES} bytes"));
        return None;
    }
    let members: Map<String, Value> = match serde_json::from_str(json) {
        Ok(members) => members,
        Err(error) => {
            faults.add(DOCUMENT, error);
            return None;
        }
    };
    let (mut missing, before) = (Vec::new(), faults.count());
    for (name, expected) in [("Kind", id.kind().name()), (id.kind().id_member(), id.as_str())] {
        match members.get(name) {
            None => missing.push(format!("\"{name}\":{}", Value::from(expected))),
            Some(found) => {
                let what = format_args!("must be {expected:?}, as in the path. It may be left out");
                faults.require(found == expected, format!("{DOCUMENT}.{name}"), what);
            }
        }
    }
    // The other members can't be checked by the rules of another context.
    if faults.count() > before {
        return None;
    }
    if !missing.is_empty() && !members.is_empty() {
        missing.push(String::new());
    }
    let rest = json.trim_start().strip_prefix('{')?;
    Some(format!("{{{}{rest}", missing.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{
        ContextKind,
        tests::{SERVER_TOOLS, catalog},
    };
    use crate::model::Wire;

    fn parse(id: &str, json: &str) -> Result<Document, Vec<String>> {
        let catalog = catalog();
        let rules = Rules {
            catalog: &catalog,
            server_tools: SERVER_TOOLS.to_vec(),
            providers: vec![DeclaredProvider { name: "backup".to_owned(), wire: Wire::Responses }],
        };
        let found = rules.parse_document(&ContextKind::Conversation.id(id).unwrap(), json);
        found.map_err(|faults| faults.as_slice().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn kind_and_id_may_be_left_out_or_repeated() {
        let short = parse("c", r#" {"Name":"C","System":"Help."}"#).unwrap();
        let long = parse("c", r#"{"Kind":"conversation","Name":"C","Id":"c","System":"Help."}"#).unwrap();
        assert_eq!(short, long);
        assert_eq!(short.context_id().as_str(), "c");
    }

    #[test]
    fn faults_name_their_member() {
        for (json, expected) in [
            (r#"{"Name":"C","System":"Help.","Temperature":3}"#, "context.Temperature: must be from 0 to 2"),
            (r#"{"Name":"C","System":"Help.","Colour":3}"#, "context.Colour: unknown field"),
            (r#"{"Name":"C","System":"Help.","Kind":"agent"}"#, "context.Kind: must be \"conversation\""),
            (r#"{"Name":"C","System":"Help.","Id":"d"}"#, "context.Id: must be \"c\""),
            (r#"{"Name":"C","Name":"D","System":"Help."}"#, "context: duplicate field"),
            (r#"{"Name":"C","System":"Help.","Provider":"gone"}"#, "context.Provider: \"gone\" is not"),
            ("{}", "context: missing field `Name`"),
            ("[]", "context: invalid type"),
            ("{", "context: EOF"),
        ] {
            let faults = parse("c", json).unwrap_err();
            assert!(faults.iter().any(|fault| fault.starts_with(expected)), "{json}: {faults:?}");
        }
        let reserved = parse("default", r#"{"Name":"C","System":"Help."}"#).unwrap_err();
        assert_eq!(reserved, ["context.Id: \"default\" is reserved for the built-in conversation context"]);
    }
}
