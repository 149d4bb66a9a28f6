//! What `sam local` and `cargo lambda` need to run the functions against a running local cloud: where its services are,
//! and everything else that the functions are configured with.
//!
//! `sam local` gives a function the variables alone that its template declares, so beside their values there is a
//! template that declares them.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use reqwest::Url;
use serde_json::{Map, Value, json};

use crate::endpoints::Endpoints;
use crate::environment;
use crate::lambda::Function;
use crate::options::{Model, Options};
use crate::running::{self, NotRunning};
use crate::services::ACCESS_KEY;
use crate::token::{AUDIENCE, claim};

/// Why nothing was written. One line each.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There are no services.
    #[error(transparent)]
    NotRunning(#[from] NotRunning),
    /// The template is none.
    #[error("{0} is no template of SAM: {1}")]
    Template(String, String),
    /// The address can't stand in a URL.
    #[error("{0} is no address of a machine")]
    Host(String),
    /// A file can't be read or written.
    #[error("cannot use {0}: {1}")]
    File(String, std::io::Error),
}

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The data folder of the local cloud. The files are written into its folder `sam`.
    pub data: PathBuf,
    /// How a container reaches this machine; as the services say where not given.
    pub host: Option<String>,
    /// The template.
    pub template: PathBuf,
    /// Where each function's `bootstrap` is, in a folder with the name of its resource.
    pub built: PathBuf,
    /// Who answers model calls.
    pub model: Model,
}

/// What was written.
#[derive(Debug, Clone)]
pub struct Written {
    /// The template, for `sam local --template`.
    pub template: PathBuf,
    /// The variables, for `sam local --env-vars`.
    pub variables: PathBuf,
    /// The variables, for `cargo lambda watch --env-file`.
    pub env_file: PathBuf,
}

/// Writes the files.
///
/// # Errors
/// When no local cloud runs, or a file can't be used.
pub fn write(asked: &Asked) -> Result<Written, Error> {
    let endpoints = running::endpoints(&asked.data)?;
    let here = environment(endpoints.clone(), &asked.model);
    let there = in_container(endpoints, asked.host.as_deref(), &asked.model)?;
    let (template, variables) = overlay(read_template(&asked.template)?, &there, &absolute(&asked.built)?);

    let folder = asked.data.join("sam");
    std::fs::create_dir_all(&folder).map_err(of_file(&folder))?;
    let written = Written {
        template: folder.join("template.json"),
        variables: folder.join("env.json"),
        env_file: folder.join("functions.env"),
    };
    keep(&folder, &written.template, &format!("{template:#}\n"))?;
    keep(&folder, &written.variables, &format!("{variables:#}\n"))?;
    let lines: String = here.iter().map(|(name, value)| format!("{name}='{value}'\n")).collect();
    keep(&folder, &written.env_file, &lines)?;
    Ok(written)
}

/// What the functions are configured with. A request without an authorizer is ada's, of acme.
fn environment(endpoints: Endpoints, model: &Model) -> BTreeMap<String, String> {
    let options = Options { model: model.clone(), ..Options::default() };
    // A provider's address is its own.
    let model = match model {
        Model::Provider { base_url, .. } => base_url.clone(),
        Model::Scripted(_) => endpoints.model.clone(),
    };
    let mut environment = environment::of_functions(&options, &Endpoints { model, ..endpoints });
    let claims = json!({
        "aud": AUDIENCE, "token_use": "id", (claim::USER): "ada", (claim::USER_NAME): "ada", (claim::ORG): "acme",
    });
    environment.insert(settings::DEVELOPMENT_CLAIMS.name.to_owned(), claims.to_string());
    environment.insert("AWS_ACCESS_KEY_ID".to_owned(), ACCESS_KEY.to_owned());
    environment
}

/// The same as `sam local` needs it: it reads whole answers alone.
fn in_container(
    endpoints: Endpoints,
    host: Option<&str>,
    model: &Model,
) -> Result<BTreeMap<String, String>, Error> {
    let mut environment = environment(seen_from(endpoints, host)?, model);
    environment.insert(settings::BUFFERED_RESPONSES.name.to_owned(), "true".to_owned());
    Ok(environment)
}

/// The endpoints, as something with another address than this machine reaches them.
fn seen_from(endpoints: Endpoints, host: Option<&str>) -> Result<Endpoints, Error> {
    let Some(host) = host else { return Ok(endpoints) };
    let moved = |url: &str| {
        let moved = Url::parse(url).ok().and_then(|mut url| {
            url.set_host(Some(host)).ok()?;
            Some(url.to_string().trim_end_matches('/').to_owned())
        });
        moved.ok_or_else(|| Error::Host(host.to_owned()))
    };
    Ok(Endpoints {
        dynamodb: moved(&endpoints.dynamodb)?,
        s3: moved(&endpoints.s3)?,
        sqs: moved(&endpoints.sqs)?,
        finalize_queue: moved(&endpoints.finalize_queue)?,
        dead_letter_queue: moved(&endpoints.dead_letter_queue)?,
        model: moved(&endpoints.model)?,
        qdrant: moved(&endpoints.qdrant)?,
        api: endpoints.api,
    })
}

fn read_template(path: &Path) -> Result<Value, Error> {
    let wrong = |why: String| Error::Template(path.display().to_string(), why);
    let text = std::fs::read_to_string(path).map_err(of_file(path))?;
    let template = yaml_serde::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let template = without_tags(template);
    if template.pointer("/Globals/Function/Environment/Variables").is_some_and(Value::is_object) {
        Ok(template)
    } else {
        Err(wrong("it has no Globals.Function.Environment.Variables".to_owned()))
    }
}

/// The same template without the short forms of CloudFormation's functions, which JSON has not.
fn without_tags(value: yaml_serde::Value) -> Value {
    match value {
        yaml_serde::Value::Tagged(tagged) => {
            let name = tagged.tag.to_string();
            let name = name.trim_start_matches('!');
            let value = match (name, without_tags(tagged.value)) {
                ("GetAtt", Value::String(path)) => json!(path.splitn(2, '.').collect::<Vec<_>>()),
                (_, value) => value,
            };
            match name {
                "Ref" | "Condition" => json!({ (name): value }),
                _ => json!({ (format!("Fn::{name}")): value }),
            }
        }
        yaml_serde::Value::Sequence(all) => all.into_iter().map(without_tags).collect(),
        yaml_serde::Value::Mapping(members) => members
            .into_iter()
            .map(|(name, value)| {
                let name =
                    name.as_str().map_or_else(|| without_tags(name.clone()).to_string(), str::to_owned);
                (name, without_tags(value))
            })
            .collect::<Map<_, _>>()
            .into(),
        other => serde_json::to_value(other).unwrap_or_default(),
    }
}

/// The template for this machine's processor and the functions as they were built, with every variable declared; and
/// the variables' values, by resource.
fn overlay(mut template: Value, environment: &BTreeMap<String, String>, built: &Path) -> (Value, Value) {
    let processor = if cfg!(target_arch = "aarch64") { "arm64" } else { "x86_64" };
    let mut of_all = Map::new();
    if let Some(globals) = template.pointer_mut("/Globals/Function").and_then(Value::as_object_mut) {
        globals.insert("Architectures".to_owned(), json!([processor]));
        if let Some(variables) = globals.get_mut("Environment").and_then(|of| of.get_mut("Variables")) {
            of_all = variables.as_object().cloned().unwrap_or_default();
            let declared = environment.keys().map(|name| (name.clone(), Value::from("")));
            let both: Map<_, _> = declared.chain(of_all.clone()).collect();
            *variables = both.into();
        }
    }
    let mut values = Map::new();
    let resources = template.get_mut("Resources").and_then(Value::as_object_mut);
    for (name, resource) in resources.into_iter().flatten() {
        if resource.get("Type").and_then(Value::as_str) != Some("AWS::Serverless::Function") {
            continue;
        }
        if let Some(resource) = resource.as_object_mut() {
            // It is built.
            resource.remove("Metadata");
        }
        let own = resource.pointer("/Properties/Environment/Variables").and_then(Value::as_object);
        values.insert(
            name.clone(),
            values_of(name, of_all.iter().chain(own.into_iter().flatten()), environment),
        );
        if let Some(properties) = resource.get_mut("Properties").and_then(Value::as_object_mut) {
            properties.insert("CodeUri".to_owned(), json!(built.join(name)));
        }
    }
    (template, values.into())
}

/// A function's variables. What the template makes of its parameters and resources, which are none here, is blank.
fn values_of<'a>(
    resource: &str,
    declared: impl Iterator<Item = (&'a String, &'a Value)>,
    environment: &BTreeMap<String, String>,
) -> Value {
    let blank = declared.filter(|(_, value)| !value.is_string());
    let mut values: Map<_, _> = blank.map(|(name, _)| (name.clone(), Value::from(""))).collect();
    values.extend(environment.iter().map(|(name, value)| (name.clone(), value.as_str().into())));
    let key = Function::ALL.into_iter().find(|function| function.resource() == resource);
    values.extend(key.map(|function| ("AWS_ACCESS_KEY_ID".to_owned(), function.access_key().into())));
    values.into()
}

/// Writes a file that nobody else may read: a provider's key may be in it.
fn keep(folder: &Path, path: &Path, text: &str) -> Result<(), Error> {
    let write = || {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.persist(path).map_err(|error| error.error)
    };
    write().map(drop).map_err(of_file(path))
}

fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(of_file(path))
}

fn of_file(path: &Path) -> impl Fn(std::io::Error) -> Error {
    let path = path.display().to_string();
    move |error| Error::File(path.clone(), error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoints() -> Endpoints {
        let at = |port: u16| format!("http://127.0.0.1:{port}");
        Endpoints {
            api: at(9000),
            dynamodb: at(1),
            s3: at(2),
            finalize_queue: format!("{}/123456789012/q", at(3)),
            dead_letter_queue: format!("{}/123456789012/d", at(3)),
            sqs: at(3),
            model: format!("{}/v1", at(4)),
            qdrant: at(5),
        }
    }

    fn overlaid() -> (Value, Value, BTreeMap<String, String>) {
        let model = Model::Scripted(scripted_model::Provider::default());
        let environment = in_container(endpoints(), Some("172.17.0.1"), &model).unwrap();
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let template = read_template(&repository.join("template.yaml")).unwrap();
        let (template, values) = overlay(template, &environment, Path::new("/built"));
        (template, values, environment)
    }

    #[test]
    fn every_function_of_the_template_has_its_variables_declared_and_set() {
        let (template, values, environment) = overlaid();
        let declared = template.pointer("/Globals/Function/Environment/Variables").unwrap();
        for function in Function::ALL {
            let values = values[function.resource()].as_object().unwrap();
            let own = template["Resources"][function.resource()].pointer("/Properties/Environment/Variables");
            for name in values.keys() {
                let is_declared = declared.get(name).or_else(|| own?.get(name)).is_some();
                assert!(is_declared, "{name} of {} is dropped", function.name());
            }
            for (name, value) in &environment {
                let value = if name == "AWS_ACCESS_KEY_ID" { &function.access_key() } else { value };
                assert_eq!(values[name], *value, "{name}");
            }
            let code = &template["Resources"][function.resource()]["Properties"]["CodeUri"];
            assert_eq!(code, &json!(format!("/built/{}", function.resource())));
        }
        assert_eq!(values.as_object().unwrap().len(), Function::ALL.len());
        assert_eq!(values["ExecuteFunction"]["OPENAI_API_KEY_SECRET_ARN"], "");
        assert_eq!(values["SessionReadFunction"]["BUFFERED_RESPONSES"], "true");
        assert_eq!(values["ExecuteFunction"]["FINALIZE_QUEUE_URL"], "http://172.17.0.1:3/123456789012/q");
        assert_eq!(values["ExecuteFunction"]["OPENAI_BASE_URL"], "http://172.17.0.1:4/v1");
    }

    #[test]
    fn a_template_without_short_forms_says_the_same() {
        let yaml = "a: !Ref X\nb: !GetAtt A.B.C\nc: !If [Y, !Sub '${Z}', !Ref AWS::NoValue]\n";
        assert_eq!(
            without_tags(yaml_serde::from_str(yaml).unwrap()),
            json!({
                "a": {"Ref": "X"}, "b": {"Fn::GetAtt": ["A", "B.C"]},
                "c": {"Fn::If": ["Y", {"Fn::Sub": "${Z}"}, {"Ref": "AWS::NoValue"}]},
            })
        );
    }

    #[test]
    fn an_address_that_is_none_is_refused() {
        assert!(matches!(seen_from(endpoints(), Some("a b")), Err(Error::Host(_))));
    }
}
