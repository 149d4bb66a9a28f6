//! Checks of connections beyond the rules of their members.

use std::collections::HashSet;

use serde_json::Value;

use super::{Authentication, Connection, ConnectionTool, PathTemplate, Protocol, Scheme, model_name};
use crate::{
    fault::FaultCollector,
    members::{MAX_PROVIDER_NAME_CHARS, Members},
    tool::{self, remote::EffectClass},
};

/// Checks a connection. Its URL is checked by the guard of the deployment besides.
pub(crate) fn check(connection: &Connection, at: &str, faults: &mut FaultCollector) {
    connection.check_members(at, faults);
    let Connection { authentication, protocol, tools, .. } = connection;
    check_authentication(authentication, &format!("{at}.Authentication"), faults);
    let is_function = *protocol == Protocol::Lambda;
    faults.require(
        connection.url.is_some() != is_function,
        format!("{at}.Url"),
        "is required, except for the protocol lambda, which has none",
    );
    faults.require(
        connection.function_arn.is_some() == is_function,
        format!("{at}.FunctionArn"),
        "is required for the protocol lambda, and for no other",
    );
    faults.require(
        !is_function || authentication.scheme == Scheme::None,
        format!("{at}.Authentication.Scheme"),
        "must be none for the protocol lambda: the deployment's role invokes the function",
    );
    faults.require(
        connection.document_url.is_none() || *protocol == Protocol::Openapi,
        format!("{at}.DocumentUrl"),
        "is only for the protocol openapi",
    );
    let mut names = HashSet::new();
    for (n, tool) in tools.iter().enumerate() {
        let at = format!("{at}.Tools[{n}]");
        let name = model_name(&connection.id, &tool.name);
        faults.require(names.insert(&tool.name), format!("{at}.Name"), "is the name of another tool");
        faults.require(
            name.len() <= MAX_PROVIDER_NAME_CHARS,
            format!("{at}.Name"),
            format_args!("is too long: {name:?} must have at most {MAX_PROVIDER_NAME_CHARS} characters"),
        );
        for fault in tool::schema_faults(&tool.parameters, false) {
            faults.add(format!("{at}.Parameters"), fault);
        }
        if let Some(approval) = &tool.approval {
            approval.check_rules(&format!("{at}.Approval"), faults);
        }
        match protocol {
            Protocol::Http | Protocol::Openapi => check_http(*protocol, tool, &at, faults),
            Protocol::Mcp => check_without_http(tool, &at, faults),
            Protocol::Lambda => {
                check_without_http(tool, &at, faults);
                faults.require(tool.hash.is_none(), format!("{at}.Hash"), "is only for MCP and OpenAPI");
            }
        }
    }
}

/// Checks that each scheme has its own members and no others.
fn check_authentication(authentication: &Authentication, at: &str, faults: &mut FaultCollector) {
    let Authentication { scheme, header, service, region, audience } = authentication;
    for (name, is_set, owner, word) in [
        ("Header", header.is_some(), Scheme::Header, "header"),
        ("Service", service.is_some(), Scheme::Sigv4, "sigv4"),
        ("Region", region.is_some(), Scheme::Sigv4, "sigv4"),
        ("Audience", audience.is_some(), Scheme::Caller, "caller"),
    ] {
        faults.require(
            is_set == (*scheme == owner),
            format!("{at}.{name}"),
            format_args!("is required for the scheme {word}, and for no other"),
        );
    }
}

fn check_http(protocol: Protocol, tool: &ConnectionTool, at: &str, faults: &mut FaultCollector) {
    faults.require(tool.method.is_some(), format!("{at}.Method"), "is required for an HTTP tool");
    if protocol == Protocol::Http {
        faults.require(tool.remote_name.is_none(), format!("{at}.RemoteName"), "is not for HTTP");
        faults.require(tool.hash.is_none(), format!("{at}.Hash"), "is only for MCP and OpenAPI");
    }
    faults.require(
        tool.key_header.is_none() || tool.class == EffectClass::Keyed || tool.lookup_path.is_some(),
        format!("{at}.KeyHeader"),
        "needs the Class keyed, or a LookupPath",
    );
    if let Some(path) = &tool.lookup_path {
        let template = PathTemplate::parse(path);
        let has_key = template.is_ok_and(|template| template.arguments().eq(["key"]));
        let has_intent = tool.class.has_intent();
        faults.require(
            has_key,
            format!("{at}.LookupPath"),
            "must be a path with {key} and no other argument",
        );
        faults.require(has_intent, format!("{at}.LookupPath"), "needs the Class effect or keyed");
    }
    let Some(path) = &tool.path else {
        faults.add(format!("{at}.Path"), "is required for an HTTP tool");
        return;
    };
    let template = match PathTemplate::parse(path) {
        Ok(template) => template,
        Err(rule) => {
            faults.add(format!("{at}.Path"), rule);
            return;
        }
    };
    let required: Vec<&str> = tool
        .parameters
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    for name in template.arguments() {
        faults.require(
            required.contains(&name),
            format!("{at}.Path"),
            format_args!("names {name:?}, which must be a required property of Parameters"),
        );
    }
    let declared = tool.parameters.get("properties");
    for (n, name) in tool.query.iter().enumerate() {
        let is_declared = declared.is_some_and(|properties| properties.get(name).is_some());
        faults.require(is_declared, format!("{at}.Query[{n}]"), "must be a property of Parameters");
    }
}

fn check_without_http(tool: &ConnectionTool, at: &str, faults: &mut FaultCollector) {
    for (name, is_set) in [
        ("Method", tool.method.is_some()),
        ("Path", tool.path.is_some()),
        ("Query", !tool.query.is_empty()),
        ("LookupPath", tool.lookup_path.is_some()),
        ("KeyHeader", tool.key_header.is_some()),
    ] {
        faults.require(!is_set, format!("{at}.{name}"), "is only for HTTP");
    }
}
