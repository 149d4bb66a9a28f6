//! Files and parts of files that are generated from the contract.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{collections::BTreeMap, env, fs, path::Path};

use contracts::operations::{self, Function, Method, Route};

const COMMAND: &str = "WRITE_GENERATED=1 cargo test --locked -p openapi --test generated";

/// Requires a file to be current, or writes it anew with `WRITE_GENERATED=1`.
fn check(path: &str, generate: impl FnOnce(&str) -> String) {
    let file = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path);
    let stored = fs::read_to_string(&file).unwrap();
    let expected = generate(&stored);
    if env::var_os("WRITE_GENERATED").is_some() {
        return fs::write(&file, expected).unwrap();
    }
    assert!(stored == expected, "{path} is stale. Write it anew: {COMMAND}");
}

/// Replaces the lines between a line with this comment and the next one that says `End of generated lines`.
fn replace_region(text: &str, comment: &str, lines: &str) -> String {
    let (before, rest) = text.split_once(&format!("# {comment}\n")).unwrap();
    let end = rest.find("# End of generated lines\n").unwrap();
    let indent = rest[..end].rfind('\n').map_or(0, |line| line + 1);
    format!("{before}# {comment}\n{lines}{}", &rest[indent..])
}

#[test]
fn openapi_file_matches_the_contract() {
    check("infra/openapi.yaml", |_| openapi::yaml().unwrap());
}

#[test]
fn template_events_match_the_contract() {
    let mut is_first = true;
    let mut event = |route: Route| {
        let (first, rest) = route.id.split_at(1);
        let (name, method) = (first.to_uppercase() + rest, route.method.as_str());
        // Braces end a plain text in a line of YAML.
        let path =
            if route.path.contains('{') { format!("\"{}\"", route.path) } else { route.path.to_owned() };
        if !std::mem::take(&mut is_first) {
            return format!(
                "        {name}: {{Type: Api, Properties: {{<<: *route, Method: {method}, Path: {path}}}}}\n"
            );
        }
        format!(
            "        {name}:
          Type: Api
          Properties:
            <<: &route
              RestApiId: !Ref Api
              ResponseTransferMode: RESPONSE_STREAM
              TimeoutInMillis: 900000
            Method: {method}
            Path: {path}
"
        )
    };
    check("template.yaml", |stored| {
        let functions = [Function::Execute, Function::ToolContinuation, Function::SessionRead];
        functions.into_iter().fold(stored.to_owned(), |text, function| {
            let events: String =
                operations::routes().filter(|route| route.function() == function).map(&mut event).collect();
            let comment = format!("Routes of {}, generated from the contract", function.name());
            replace_region(&text, &comment, &format!("      Events:\n{events}"))
        })
    });
}

#[test]
fn cargo_lambda_routes_match_the_contract() {
    let mut resources: BTreeMap<&str, Vec<(Method, &str)>> = BTreeMap::new();
    for route in operations::routes() {
        resources.entry(route.path).or_default().push((route.method, route.function().name()));
    }
    let lines = resources.into_iter().map(|(path, functions)| {
        let path = path.replace("{proxy+}", "{*proxy}");
        match functions.as_slice() {
            [(_, only)] => format!("\"{path}\" = \"{only}\"\n"),
            several => {
                let row = |(method, function): &(Method, &str)| {
                    format!("    {{ method = \"{}\", function = \"{function}\" }},\n", method.as_str())
                };
                format!("\"{path}\" = [\n{}]\n", several.iter().map(row).collect::<String>())
            }
        }
    });
    let lines: String = lines.collect();
    check("Cargo.toml", |stored| {
        replace_region(stored, "Routes of `cargo lambda watch`, generated from the contract", &lines)
    });
}
