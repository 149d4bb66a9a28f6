//! The operations of an OpenAPI document, as HTTP tools of a connection.
//!
//! The document is untrusted: it decides neither the host of a request nor its authentication, and nothing that it refers to
//! is loaded. An operation that needs more than a path, a query and a JSON object is excluded with the rule that it breaks.

use std::collections::BTreeSet;

use agent::connection::{Connection, HttpMethod, Offer, OfferedTool, PathTemplate};
use contracts::read::{ExcludedTool, ToolHint};
use mcp_client::{show_schema, visible};
use serde_json::{Map, Value, json};
use url::Url;

/// The most operations of a document.
const MAX_OPERATIONS: usize = 1_000;
/// The most references from one place to its schema.
const MAX_HOPS: usize = 16;
/// The most bytes of an operation's schema.
const MAX_SCHEMA_BYTES: usize = 64 * 1024;
/// The longest operation id, in characters.
const MAX_ID_CHARS: usize = 256;

const METHODS: [(&str, HttpMethod); 5] = [
    ("get", HttpMethod::Get),
    ("put", HttpMethod::Put),
    ("post", HttpMethod::Post),
    ("delete", HttpMethod::Delete),
    ("patch", HttpMethod::Patch),
];

/// Returns the tools of a document.
///
/// # Errors
/// Returns the rule that the document as a whole breaks, for an operator.
pub(crate) fn offer(document: &str, connection: &Connection) -> Result<Offer, String> {
    let document: Value = serde_json::from_str(document).map_err(|error| {
        format!("The OpenAPI document isn't JSON: line {}, column {}.", error.line(), error.column())
    })?;
    let version = document.get("openapi").and_then(Value::as_str).unwrap_or_default();
    if !version.starts_with("3.") {
        return Err("The document isn't of OpenAPI 3: its member `openapi` must begin with 3.".to_owned());
    }
    let base =
        Url::parse(connection.server_url()).map_err(|_| "The connection's Url isn't a URL.".to_owned())?;
    let source = connection.document_url.as_deref().and_then(|url| Url::parse(url).ok());
    let reader = Reader { document: &document, relative_to: source.unwrap_or_else(|| base.clone()), base };
    if !reader.is_here(document.get("servers")) {
        return Err(format!(
            "None of the document's `servers` is the connection's Url, {}. Set Url to the server to use.",
            connection.server_url()
        ));
    }
    let mut offer = Offer::default();
    for (path, item) in document.get("paths").and_then(Value::as_object).into_iter().flatten() {
        for (method_name, method) in METHODS {
            let Some(operation) = item.get(method_name) else { continue };
            if offer.tools.len() + offer.excluded.len() >= MAX_OPERATIONS {
                return Err(format!("The document has more than {MAX_OPERATIONS} operations."));
            }
            match reader.operation(path, item, method, operation) {
                Ok(tool) => offer.tools.push(tool),
                Err(reason) => {
                    let id = operation.get("operationId").and_then(Value::as_str);
                    let name = id.map_or_else(|| format!("{} {path}", method.as_str()), str::to_owned);
                    let name: String = visible(&name).chars().take(MAX_ID_CHARS).collect();
                    offer.excluded.push(ExcludedTool { name, reason });
                }
            }
        }
    }
    let mut ids = BTreeSet::new();
    let (tools, repeated) =
        offer.tools.into_iter().partition(|offered| ids.insert(offered.tool.name.clone()));
    offer.tools = tools;
    offer.excluded.extend(repeated.into_iter().map(|repeated: OfferedTool| ExcludedTool {
        name: repeated.tool.name,
        reason: "another operation of the document has the same id".to_owned(),
    }));
    Ok(offer)
}

/// A document with the server that its operations may be called at.
struct Reader<'a> {
    document: &'a Value,
    base: Url,
    relative_to: Url,
}

/// The schema of an operation's arguments, in parts.
#[derive(Default)]
struct Arguments {
    properties: Map<String, Value>,
    required: Vec<Value>,
    query: Vec<String>,
}

impl Arguments {
    fn add(&mut self, name: &str, schema: Value, is_required: bool) -> Result<(), String> {
        if self.properties.insert(name.to_owned(), schema).is_some() {
            return Err(format!("two of its arguments have the name {}", visible(name)));
        }
        self.required.extend(is_required.then(|| name.into()));
        Ok(())
    }
}

impl<'a> Reader<'a> {
    /// True if one of the servers is the connection's, or none is named.
    fn is_here(&self, servers: Option<&Value>) -> bool {
        let Some(servers) = servers.and_then(Value::as_array).filter(|servers| !servers.is_empty()) else {
            return true;
        };
        let here = (self.base.origin(), self.base.path().trim_end_matches('/'));
        servers.iter().filter_map(|server| server.get("url")?.as_str()).any(|url| {
            let url = self.relative_to.join(url);
            url.is_ok_and(|url| (url.origin(), url.path().trim_end_matches('/')) == here)
        })
    }

    fn operation(
        &self,
        path: &str,
        item: &'a Value,
        method: HttpMethod,
        operation: &'a Value,
    ) -> Result<OfferedTool, String> {
        let id = operation.get("operationId").and_then(Value::as_str).unwrap_or_default();
        if id.trim().is_empty() || id.chars().count() > MAX_ID_CHARS || visible(id) != id || id.contains('\n')
        {
            return Err(format!(
                "it needs an `operationId` of at most {MAX_ID_CHARS} characters on one line"
            ));
        }
        if item.get("$ref").is_some() {
            return Err("its path refers to another place".to_owned());
        }
        if !self.is_here(operation.get("servers").or_else(|| item.get("servers"))) {
            return Err("its `servers` are elsewhere than the connection's Url".to_owned());
        }
        let template = PathTemplate::parse(path).map_err(|rule| format!("its path {rule}"))?;
        let mut arguments = Arguments::default();
        self.parameters(item, operation, &mut arguments)?;
        if let Some(body) = operation.get("requestBody") {
            self.body(self.resolved(body)?, method, &mut arguments)?;
        }
        for name in template.arguments() {
            if !arguments.required.iter().any(|required| required == name) {
                return Err(format!("its path names {name:?}, which is no parameter"));
            }
        }
        let parameters = self.schema(&arguments)?;
        let text =
            |member: &str| operation.get(member).and_then(Value::as_str).map(|text| visible(text.trim()));
        let description: Vec<String> = [text("summary"), text("description")].into_iter().flatten().collect();
        let hints = match method {
            HttpMethod::Get => vec![ToolHint::ReadOnly],
            HttpMethod::Put => vec![ToolHint::Idempotent],
            HttpMethod::Delete => vec![ToolHint::Destructive, ToolHint::Idempotent],
            HttpMethod::Post | HttpMethod::Patch => Vec::new(),
        };
        let mut offered = OfferedTool::new(id.to_owned(), description.join("\n\n"), parameters, hints);
        offered.tool.method = Some(method);
        offered.tool.path = Some(path.to_owned());
        offered.tool.query = if method.has_body() { arguments.query } else { Vec::new() };
        Ok(offered)
    }

    fn parameters(
        &self,
        item: &'a Value,
        operation: &'a Value,
        arguments: &mut Arguments,
    ) -> Result<(), String> {
        let mut found: Vec<(&str, &str, &Value)> = Vec::new();
        let lists = [item, operation].into_iter().filter_map(|place| place.get("parameters")?.as_array());
        for parameter in lists.flatten() {
            let parameter = self.resolved(parameter)?;
            let member = |name: &str| parameter.get(name).and_then(Value::as_str).unwrap_or_default();
            let (name, place) = (member("name"), member("in"));
            // The operation's own parameter replaces that of its path.
            found.retain(|(other, elsewhere, _)| (*other, *elsewhere) != (name, place));
            found.push((name, place, parameter));
        }
        for (name, place, parameter) in found {
            let is_required = place == "path" || parameter.get("required") == Some(&Value::Bool(true));
            match place {
                "path" | "query" => {
                    let schema = parameter
                        .get("schema")
                        .ok_or_else(|| format!("its parameter {} has no `schema`", visible(name)))?;
                    let mut schema = schema.clone();
                    if let (Value::Object(schema), Some(text)) = (&mut schema, parameter.get("description")) {
                        schema.entry("description").or_insert_with(|| text.clone());
                    }
                    arguments.add(name, schema, is_required)?;
                    arguments.query.extend((place == "query").then(|| name.to_owned()));
                }
                _ if is_required => return Err(format!("it needs the {} {}", visible(place), visible(name))),
                _ => {}
            }
        }
        Ok(())
    }

    fn body(&self, body: &'a Value, method: HttpMethod, arguments: &mut Arguments) -> Result<(), String> {
        if !method.has_body() {
            return Err(format!("its method, {}, has a body", method.as_str()));
        }
        let json = body.get("content").and_then(Value::as_object).and_then(|content| {
            let is_json = |kind: &str| kind.split(';').next().map(str::trim) == Some("application/json");
            content.iter().find(|(kind, _)| is_json(kind)).map(|(_, media)| media)
        });
        let schema = json.and_then(|media| media.get("schema"));
        self.members(schema.ok_or("its body isn't application/json")?, arguments, MAX_HOPS)
    }

    /// Adds the members of an object as arguments.
    fn members(&self, schema: &'a Value, arguments: &mut Arguments, hops: usize) -> Result<(), String> {
        let schema = self.resolved(schema)?;
        let hops = hops.checked_sub(1).ok_or("its body refers to too many schemas")?;
        let parts = schema.get("allOf").and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            self.members(part, arguments, hops)?;
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        let is_object = schema.get("type").is_none_or(|kind| kind == "object");
        let has_choice = ["oneOf", "anyOf", "not", "if"].iter().any(|keyword| schema.get(keyword).is_some());
        if !is_object || has_choice || (properties.is_none() && parts.is_none()) {
            return Err("its body isn't an object with declared members".to_owned());
        }
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|names| names.iter().any(|required| required == name));
        for (name, member) in properties.into_iter().flatten() {
            arguments.add(name, member.clone(), is_required(name))?;
        }
        Ok(())
    }

    /// Returns the schema of the arguments, with every schema of the document that it refers to.
    fn schema(&self, arguments: &Arguments) -> Result<Value, String> {
        let mut schema = json!({
            "type": "object", "properties": arguments.properties, "required": arguments.required,
        });
        let mut names = BTreeSet::new();
        moved(&mut schema, &mut names)?;
        let (mut defs, mut open) = (Map::new(), names.clone());
        while let Some(name) = open.pop_first() {
            let found = self.document.pointer(&format!("/components/schemas/{name}"));
            let mut found =
                found.cloned().ok_or_else(|| format!("it refers to the schema {name}, which isn't there"))?;
            let mut more = BTreeSet::new();
            moved(&mut found, &mut more)?;
            defs.insert(name, found);
            open.extend(more.difference(&names).cloned().collect::<Vec<_>>());
            names.extend(more);
            if defs.len() > MAX_OPERATIONS {
                return Err("it refers to too many schemas".to_owned());
            }
        }
        if let (Value::Object(schema), false) = (&mut schema, defs.is_empty()) {
            schema.insert("$defs".to_owned(), defs.into());
        }
        show_schema(&mut schema)?;
        match schema.to_string().len() {
            bytes if bytes > MAX_SCHEMA_BYTES => {
                Err(format!("its schema has more than {MAX_SCHEMA_BYTES} bytes"))
            }
            _ => Ok(schema),
        }
    }

    /// Follows references inside the document.
    fn resolved(&self, mut value: &'a Value) -> Result<&'a Value, String> {
        for _ in 0..MAX_HOPS {
            let Some(reference) = value.get("$ref").and_then(Value::as_str) else { return Ok(value) };
            let pointer = reference.strip_prefix('#').ok_or_else(|| elsewhere(reference))?;
            value = self.document.pointer(pointer).ok_or_else(|| elsewhere(reference))?;
        }
        Err("it has references in a circle".to_owned())
    }
}

fn elsewhere(reference: &str) -> String {
    format!("it refers to {}, which isn't in the document", agent::text::truncate(visible(reference), 200))
}

/// Makes a schema of OpenAPI one of JSON Schema: references go to `$defs`, whose names are collected.
fn moved(schema: &mut Value, names: &mut BTreeSet<String>) -> Result<(), String> {
    match schema {
        Value::Array(items) => items.iter_mut().try_for_each(|item| moved(item, names)),
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get_mut("$ref") {
                let name = reference.strip_prefix("#/components/schemas/").filter(|name| !name.contains('/'));
                let name = name.ok_or_else(|| elsewhere(reference))?.to_owned();
                *reference = format!("#/$defs/{name}");
                names.insert(name);
            }
            // OpenAPI 3.0 says these as flags, which JSON Schema doesn't have.
            members.retain(|name, value| !(name.starts_with("exclusive") && value.is_boolean()));
            let is_nullable = members.get("nullable") == Some(&Value::Bool(true));
            members.retain(|name, value| name != "nullable" || !value.is_boolean());
            if is_nullable && let Some(kind @ Value::String(_)) = members.get_mut("type") {
                *kind = json!([kind.take(), "null"]);
            }
            members.values_mut().try_for_each(|member| moved(member, names))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection() -> Connection {
        serde_json::from_value(json!({
            "Id": "shop", "Name": "Shop", "Protocol": "openapi", "Url": "https://api.example.com/v1",
        }))
        .unwrap()
    }

    fn document(operation: Value) -> Value {
        json!({
            "openapi": "3.1.0", "paths": { "/orders/{id}": { "post": operation } },
            "components": { "schemas": {
                "Order": { "type": "object", "required": ["note"], "properties": {
                    "note": { "type": "string", "nullable": true, "description": "A\u{202e}B" },
                    "lines": { "type": "array", "items": { "$ref": "#/components/schemas/Line" } },
                } },
                "Line": { "type": "object", "properties": { "parts": { "$ref": "#/components/schemas/Line" } } },
            } },
        })
    }

    fn order() -> Value {
        json!({
            "operationId": "orders.update", "summary": "Updates.",
            "parameters": [
                { "name": "id", "in": "path", "required": true, "schema": { "type": "string" } },
                { "name": "dry", "in": "query", "description": "Try.", "schema": { "type": "boolean" } },
                { "name": "X-Trace", "in": "header", "schema": { "type": "string" } },
            ],
            "requestBody": { "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Order" } } } },
        })
    }

    fn offered(document: &Value) -> Offer {
        offer(&document.to_string(), &connection()).unwrap()
    }

    #[test]
    fn operation_becomes_an_http_tool() {
        let offer = offered(&document(order()));
        let [OfferedTool { tool, hints }] = &offer.tools[..] else { panic!("{offer:?}") };
        assert_eq!((tool.name.as_str(), tool.description.as_str()), ("orders.update", "Updates."));
        assert_eq!((tool.method, tool.path.as_deref()), (Some(HttpMethod::Post), Some("/orders/{id}")));
        assert_eq!((&tool.query, hints.len()), (&vec!["dry".to_owned()], 0));
        let line = json!({ "type": "object", "properties": { "parts": { "$ref": "#/$defs/Line" } } });
        assert_eq!(
            tool.parameters,
            json!({
                "type": "object", "required": ["id", "note"],
                "properties": {
                    "id": { "type": "string" },
                    "dry": { "type": "boolean", "description": "Try." },
                    "note": { "type": ["string", "null"], "description": "A\\u{202e}B" },
                    "lines": { "type": "array", "items": { "$ref": "#/$defs/Line" } },
                },
                "$defs": { "Line": line },
            })
        );
    }

    #[test]
    fn operation_beyond_the_rules_is_excluded_with_the_rule() {
        let with = |member: &str, value: Value| {
            let mut order = order();
            order[member] = value;
            document(order)
        };
        let parameter =
            |place: &str, name: &str| json!([{ "name": name, "in": place, "required": true, "schema": {} }]);
        let body = |kind: &str, schema: Value| json!({ "content": { kind: { "schema": schema } } });
        let cases = [
            (with("operationId", json!("")), "operationId"),
            (with("operationId", json!("a\u{200b}")), "operationId"),
            (with("servers", json!([{ "url": "https://evil.example.com" }])), "servers"),
            (with("servers", json!([{ "url": "https://api.example.com/v2" }])), "servers"),
            (with("parameters", json!([])), "is no parameter"),
            (with("parameters", parameter("header", "X-Key")), "needs the header X-Key"),
            (
                with("parameters", json!([{ "$ref": "https://evil.example.com/p.json" }])),
                "refers to https://evil",
            ),
            (with("requestBody", json!({ "$ref": "other.json#/body" })), "refers to other.json"),
            (with("requestBody", body("text/plain", json!({}))), "application/json"),
            (with("requestBody", body("application/json", json!({ "type": "array" }))), "isn't an object"),
            (with("requestBody", body("application/json", json!({ "oneOf": [] }))), "isn't an object"),
            (
                with(
                    "requestBody",
                    body(
                        "application/json",
                        json!({ "properties": { "a": { "$ref": "file:///etc/passwd" } } }),
                    ),
                ),
                "refers to file:",
            ),
            (
                with("requestBody", body("application/json", json!({ "properties": { "id": {} } }))),
                "have the name id",
            ),
        ];
        for (document, rule) in cases {
            let offer = offered(&document);
            assert!(offer.tools.is_empty(), "{rule}: {offer:?}");
            assert!(offer.excluded[0].reason.contains(rule), "{rule}: {:?}", offer.excluded);
        }
    }

    #[test]
    fn document_of_another_server_or_form_is_refused() {
        let mut elsewhere = document(order());
        elsewhere["servers"] = json!([{ "url": "http://169.254.169.254/" }]);
        let mut here = elsewhere.clone();
        here["servers"] = json!([{ "url": "http://169.254.169.254/" }, { "url": "/v1/" }]);
        assert_eq!(offered(&here).tools.len(), 1);
        for (text, rule) in [
            (elsewhere.to_string(), "`servers`"),
            ("openapi: 3.1.0".to_owned(), "isn't JSON"),
            (json!({ "swagger": "2.0" }).to_string(), "OpenAPI 3"),
        ] {
            let fault = offer(&text, &connection()).unwrap_err();
            assert!(fault.contains(rule), "{fault}");
        }
    }
}
