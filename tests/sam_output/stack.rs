//! The resources of a stack with given parameters: conditions evaluated, and references to parameters replaced.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::transformed;

/// A stack with its parameters.
pub(crate) struct Stack {
    parameters: BTreeMap<String, Value>,
    conditions: BTreeMap<String, Value>,
    /// The resources that exist, by logical name, with resolved properties.
    pub(crate) resources: BTreeMap<String, Value>,
    pub(crate) outputs: BTreeMap<String, Value>,
}

/// Returns the stack with these values of parameters, given as `NAME=VALUE`. `None` without SAM's transform.
pub(crate) fn stack(given: &[&str]) -> Option<Stack> {
    let template = transformed(given)?;
    let given: BTreeMap<&str, &str> = given.iter().map(|one| one.split_once('=').unwrap()).collect();
    let secret = "arn:aws:secretsmanager:us-east-1:123456789012:secret:openai-api-key-a1b2c3";
    let parameters = template["Parameters"].as_object().unwrap().iter().map(|(name, parameter)| {
        let default = parameter.get("Default").map_or(secret.to_owned(), |default| match default {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        let text = given.get(name.as_str()).map_or(default, |text| (*text).to_owned());
        let value = match parameter["Type"].as_str() {
            Some("CommaDelimitedList") => text.split(',').map(Value::from).collect(),
            _ => Value::from(text),
        };
        (name.clone(), value)
    });
    let conditions = template["Conditions"].as_object().unwrap().clone().into_iter().collect();
    let mut stack = Stack {
        parameters: parameters.collect(),
        conditions,
        resources: BTreeMap::new(),
        outputs: BTreeMap::new(),
    };
    let existing = stack.existing(&template["Resources"]);
    // References can now be told from those to resources that the conditions leave out.
    stack.resources = existing.iter().map(|(name, resource)| (name.clone(), (*resource).clone())).collect();
    let resolve = |(name, value): (&String, &Value)| Some((name.clone(), stack.resolve(value)?));
    let resources = existing.iter().map(|(name, resource)| (name, *resource)).filter_map(resolve).collect();
    let outputs = stack.existing(&template["Outputs"]);
    let outputs = outputs.iter().map(|(name, output)| (name, &output["Value"])).filter_map(resolve).collect();
    (stack.resources, stack.outputs) = (resources, outputs);
    Some(stack)
}

impl Stack {
    /// Returns the entries whose condition holds.
    fn existing<'a>(&self, entries: &'a Value) -> BTreeMap<String, &'a Value> {
        let entries = entries.as_object().unwrap().iter();
        let exists = |entry: &Value| entry["Condition"].as_str().is_none_or(|name| self.holds(name));
        entries.filter(|(_, entry)| exists(entry)).map(|(name, entry)| (name.clone(), entry)).collect()
    }

    /// Returns the properties of a resource that exists.
    #[track_caller]
    pub(crate) fn properties(&self, name: &str) -> &Value {
        &self.resources.get(name).unwrap_or_else(|| panic!("no resource {name}"))["Properties"]
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.resources.contains_key(name)
    }

    /// Returns the resources of a type with their properties.
    pub(crate) fn of_type(&self, kind: &str) -> BTreeMap<&str, &Value> {
        let resources = self.resources.iter().filter(|(_, resource)| resource["Type"] == kind);
        resources.map(|(name, resource)| (name.as_str(), &resource["Properties"])).collect()
    }

    /// Returns the functions that are built from this repository, with their properties.
    pub(crate) fn functions(&self) -> BTreeMap<&str, &Value> {
        let built = |name: &&str| self.resources[*name]["Metadata"]["BuildProperties"].is_object();
        let functions = self.of_type("AWS::Lambda::Function").into_iter();
        functions.filter(|(name, _)| built(name)).collect()
    }

    fn holds(&self, condition: &str) -> bool {
        let condition = self.conditions.get(condition).unwrap_or_else(|| panic!("no condition {condition}"));
        self.is_true(condition)
    }

    fn is_true(&self, condition: &Value) -> bool {
        let (function, argument) = function(condition).unwrap_or_else(|| panic!("{condition}"));
        let arguments = || argument.as_array().unwrap().iter();
        match function {
            "Condition" => self.holds(argument.as_str().unwrap()),
            "Fn::Not" => !self.is_true(&argument[0]),
            "Fn::And" => arguments().all(|one| self.is_true(one)),
            "Fn::Or" => arguments().any(|one| self.is_true(one)),
            "Fn::Equals" => {
                let text = |value: &Value| match self.resolve(value).unwrap() {
                    Value::String(text) => text,
                    other => other.to_string(),
                };
                text(&argument[0]) == text(&argument[1])
            }
            other => panic!("{other}"),
        }
    }

    /// Returns a value without its intrinsic functions, as far as they depend on parameters. `None` for
    /// `AWS::NoValue`.
    fn resolve(&self, value: &Value) -> Option<Value> {
        match value {
            Value::Array(all) => Some(all.iter().filter_map(|one| self.resolve(one)).collect()),
            Value::Object(members) => match function(value) {
                Some((name, argument)) => self.call(name, argument),
                None => Some(Value::Object(self.members(members))),
            },
            other => Some(other.clone()),
        }
    }

    fn members(&self, members: &Map<String, Value>) -> Map<String, Value> {
        members.iter().filter_map(|(name, value)| Some((name.clone(), self.resolve(value)?))).collect()
    }

    fn call(&self, name: &str, argument: &Value) -> Option<Value> {
        let kept = |argument: Value| Some(Value::Object(Map::from_iter([(name.to_owned(), argument)])));
        match name {
            "Ref" => match argument.as_str().unwrap() {
                "AWS::NoValue" => None,
                name => self.parameters.get(name).cloned().or_else(|| {
                    self.expect_resource(name);
                    kept(argument.clone())
                }),
            },
            "Fn::If" => {
                let branch = if self.holds(argument[0].as_str().unwrap()) { 1 } else { 2 };
                self.resolve(&argument[branch])
            }
            "Fn::GetAtt" => {
                self.expect_resource(argument[0].as_str().unwrap());
                kept(argument.clone())
            }
            "Fn::Sub" => Some(self.substitute(argument)),
            "Fn::Split" => match self.resolve(&argument[1])? {
                Value::String(text) => {
                    Some(text.split(argument[0].as_str().unwrap()).map(Value::from).collect())
                }
                list => kept(Value::Array(vec![argument[0].clone(), list])),
            },
            "Fn::Join" => {
                let parts = self.resolve(&argument[1])?;
                let texts: Option<Vec<&str>> = parts.as_array()?.iter().map(Value::as_str).collect();
                match texts {
                    Some(texts) => Some(Value::from(texts.join(argument[0].as_str().unwrap()))),
                    None => kept(Value::Array(vec![argument[0].clone(), parts])),
                }
            }
            _ => kept(self.resolve(argument)?),
        }
    }

    /// Replaces the parameters in a `Fn::Sub`. Other references stay.
    fn substitute(&self, argument: &Value) -> Value {
        let (text, variables) = match argument {
            Value::Array(parts) => (parts[0].as_str().unwrap(), self.resolve(&parts[1]).unwrap()),
            text => (text.as_str().unwrap(), Value::Null),
        };
        let mut parts = text.split("${");
        let mut substituted = parts.next().unwrap().to_owned();
        for part in parts {
            let (name, rest) = part.split_once('}').unwrap();
            match (variables[name].as_str(), self.parameters.get(name).and_then(Value::as_str)) {
                (Some(text), _) | (None, Some(text)) => substituted.push_str(text),
                (None, None) => {
                    if variables.get(name).is_none() && !name.starts_with('!') {
                        self.expect_resource(name.split('.').next().unwrap());
                    }
                    substituted.push_str(&format!("${{{name}}}"));
                }
            }
            substituted.push_str(rest);
        }
        match variables.as_object() {
            Some(members) if members.values().any(|value| !value.is_string()) => {
                json!({"Fn::Sub": [substituted, variables]})
            }
            _ => Value::from(substituted),
        }
    }

    /// Fails for a reference to a resource that the stack doesn't have.
    fn expect_resource(&self, name: &str) {
        // Before the resources are known, only conditions are evaluated.
        let known =
            self.resources.is_empty() || name.starts_with("AWS::") || self.resources.contains_key(name);
        assert!(known, "a reference to {name}, which does not exist");
    }
}

/// Returns the intrinsic function that an object is, with its argument.
fn function(value: &Value) -> Option<(&str, &Value)> {
    let members = value.as_object().filter(|members| members.len() == 1)?;
    let (name, argument) = members.iter().next()?;
    let is_function = name.starts_with("Fn::") || name == "Ref";
    (is_function || name == "Condition" && argument.is_string()).then_some((name.as_str(), argument))
}
