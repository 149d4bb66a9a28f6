//! Writes the files that `sam local` and `cargo lambda` need to run the functions against a running local cloud: the
//! service URLs and the rest of the functions' configuration.
//!
//! `sam local` only passes variables that the template declares, so the values come with a template that declares
//! them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use reqwest::Url;
use serde_json::{Map, Value, json};

use crate::account::ACCESS_KEY;
use crate::discovery::{self, NotRunning};
use crate::endpoints::Endpoints;
use crate::environment;
use crate::function::Function;
use crate::options::{Model, Options};
use crate::private_file;
use crate::service_keys::ServiceKeys;
use crate::token::{AUDIENCE, claim};

/// A failure to write the files. One line each.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No local cloud is running on the data folder.
    #[error(transparent)]
    NotRunning(#[from] NotRunning),
    /// The template is invalid.
    #[error("{0} is not a SAM template: {1}")]
    Template(String, String),
    /// The host can't be used in a URL.
    #[error("--host {0} is not a host name or an IP address")]
    Host(String),
    /// A file can't be read or written.
    #[error("Can't use {0}: {1}")]
    File(String, std::io::Error),
}

/// Input of [`write()`].
#[derive(Debug, Clone)]
pub struct Request {
    /// Data folder of the local cloud. The files are written into its subfolder `sam`.
    pub data: PathBuf,
    /// Host name or address of this machine inside a container. Defaults to the address on which the services listen.
    pub host: Option<String>,
    /// Path of the template.
    pub template: PathBuf,
    /// Folder with each function's `bootstrap`, in a subfolder named after its resource.
    pub build_dir: PathBuf,
    /// The model provider.
    pub model: Model,
}

/// The written files.
#[derive(Debug, Clone)]
pub struct OutputFiles {
    /// Template for `sam local --template`.
    pub template: PathBuf,
    /// Variables for `sam local --env-vars`.
    pub variables: PathBuf,
    /// Variables for `cargo lambda watch --env-file`.
    pub env_file: PathBuf,
}

/// Writes the files.
///
/// # Errors
/// Fails if no local cloud is running, or if a file can't be read or written.
pub fn write(request: &Request) -> Result<OutputFiles, Error> {
    let endpoints = discovery::endpoints(&request.data)?;
    let keys = discovery::service_keys(&request.data)?;
    let local_variables = environment(endpoints.clone(), &keys, &request.model);
    let container_variables =
        container_environment(endpoints, &keys, request.host.as_deref(), &request.model)?;
    let (template, variables) =
        overlay(read_template(&request.template)?, &container_variables, &absolute(&request.build_dir)?);

    let folder = request.data.join("sam");
    private_file::create_folder(&folder).map_err(file_error(&folder))?;
    let files = OutputFiles {
        template: folder.join("template.json"),
        variables: folder.join("env.json"),
        env_file: folder.join("functions.env"),
    };
    write_private(&files.template, &format!("{template:#}\n"))?;
    write_private(&files.variables, &format!("{variables:#}\n"))?;
    let lines: String = local_variables.iter().map(|(name, value)| format!("{name}='{value}'\n")).collect();
    write_private(&files.env_file, &lines)?;
    Ok(files)
}

/// Returns the functions' variables. A request without an authorizer is made as ada of acme.
fn environment(endpoints: Endpoints, keys: &ServiceKeys, model: &Model) -> BTreeMap<String, String> {
    let options = Options { model: model.clone(), ..Options::default() };
    // An external provider keeps its own URL.
    let model = match model {
        Model::Provider { base_url, .. } | Model::Bedrock { base_url, .. } => base_url.clone(),
        Model::Mock(_) => endpoints.model.clone(),
    };
    let mut environment = environment::for_functions(&options, &Endpoints { model, ..endpoints }, keys);
    let claims = json!({
        "aud": AUDIENCE, "token_use": "id", (claim::USER): "ada", (claim::USER_NAME): "ada", (claim::ORG): "acme",
    });
    environment.insert(settings::DEVELOPMENT_CLAIMS.name.to_owned(), claims.to_string());
    environment.insert("AWS_ACCESS_KEY_ID".to_owned(), ACCESS_KEY.to_owned());
    environment
}

/// Returns the variables for `sam local`, which only reads buffered responses.
fn container_environment(
    endpoints: Endpoints,
    keys: &ServiceKeys,
    host: Option<&str>,
    model: &Model,
) -> Result<BTreeMap<String, String>, Error> {
    let mut environment = environment(with_host(endpoints, host)?, keys, model);
    environment.insert(settings::BUFFERED_RESPONSES.name.to_owned(), "true".to_owned());
    Ok(environment)
}

/// Returns the endpoints with another host name for this machine.
fn with_host(endpoints: Endpoints, host: Option<&str>) -> Result<Endpoints, Error> {
    let Some(host) = host else { return Ok(endpoints) };
    let replace_host = |url: &str| {
        let replaced = Url::parse(url).ok().and_then(|mut url| {
            url.set_host(Some(host)).ok()?;
            Some(url.to_string().trim_end_matches('/').to_owned())
        });
        replaced.ok_or_else(|| Error::Host(host.to_owned()))
    };
    Ok(Endpoints {
        dynamodb: replace_host(&endpoints.dynamodb)?,
        s3: replace_host(&endpoints.s3)?,
        sqs: replace_host(&endpoints.sqs)?,
        finalize_queue: replace_host(&endpoints.finalize_queue)?,
        dead_letter_queue: replace_host(&endpoints.dead_letter_queue)?,
        knowledge_queue: replace_host(&endpoints.knowledge_queue)?,
        knowledge_dead_letter_queue: replace_host(&endpoints.knowledge_dead_letter_queue)?,
        turn_queue: replace_host(&endpoints.turn_queue)?,
        turn_dead_letter_queue: replace_host(&endpoints.turn_dead_letter_queue)?,
        webhook_queue: replace_host(&endpoints.webhook_queue)?,
        model: replace_host(&endpoints.model)?,
        qdrant: replace_host(&endpoints.qdrant)?,
        secrets: replace_host(&endpoints.secrets)?,
        api: endpoints.api,
    })
}

fn read_template(path: &Path) -> Result<Value, Error> {
    let wrong = |why: String| Error::Template(path.display().to_string(), why);
    let text = std::fs::read_to_string(path).map_err(file_error(path))?;
    let mut template: yaml_serde::Value =
        yaml_serde::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    template.apply_merge().map_err(|error| wrong(error.to_string()))?;
    let template = without_tags(template);
    if template.pointer("/Globals/Function/Environment/Variables").is_some_and(Value::is_object) {
        Ok(template)
    } else {
        Err(wrong("Globals.Function.Environment.Variables is missing".to_owned()))
    }
}

/// Replaces the short forms of CloudFormation functions, which JSON does not support.
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

/// Adapts the template to this machine's processor and to the built functions, with every variable declared. Returns
/// it with the variables' values by resource.
fn overlay(mut template: Value, environment: &BTreeMap<String, String>, build_dir: &Path) -> (Value, Value) {
    let processor = if cfg!(target_arch = "aarch64") { "arm64" } else { "x86_64" };
    let mut global_variables = Map::new();
    if let Some(globals) = template.pointer_mut("/Globals/Function").and_then(Value::as_object_mut) {
        globals.insert("Architectures".to_owned(), json!([processor]));
        if let Some(variables) = globals.get_mut("Environment").and_then(|of| of.get_mut("Variables")) {
            global_variables = variables.as_object().cloned().unwrap_or_default();
            let declared = environment.keys().map(|name| (name.clone(), Value::from("")));
            let merged: Map<_, _> = declared.chain(global_variables.clone()).collect();
            *variables = merged.into();
        }
    }
    let mut values = Map::new();
    let resources = template.get_mut("Resources").and_then(Value::as_object_mut);
    for (name, resource) in resources.into_iter().flatten() {
        if resource.get("Type").and_then(Value::as_str) != Some("AWS::Serverless::Function") {
            continue;
        }
        if let Some(resource) = resource.as_object_mut() {
            // The function is built already.
            resource.remove("Metadata");
        }
        let own = resource.pointer("/Properties/Environment/Variables").and_then(Value::as_object);
        values.insert(
            name.clone(),
            values_of(name, global_variables.iter().chain(own.into_iter().flatten()), environment),
        );
        if let Some(properties) = resource.get_mut("Properties").and_then(Value::as_object_mut) {
            properties.insert("CodeUri".to_owned(), json!(build_dir.join(name)));
        }
    }
    (template, values.into())
}

/// Returns a function's variables. Values that the template derives from parameters and resources are blank.
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

/// Writes a file that only the user can read, since it contains keys.
fn write_private(path: &Path, text: &str) -> Result<(), Error> {
    private_file::write(path, text).map_err(file_error(path))
}

fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(file_error(path))
}

fn file_error(path: &Path) -> impl Fn(std::io::Error) -> Error {
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
            knowledge_queue: format!("{}/123456789012/k", at(3)),
            knowledge_dead_letter_queue: format!("{}/123456789012/kd", at(3)),
            turn_queue: format!("{}/123456789012/t", at(3)),
            turn_dead_letter_queue: format!("{}/123456789012/td", at(3)),
            webhook_queue: format!("{}/123456789012/w", at(3)),
            sqs: at(3),
            model: format!("{}/v1", at(4)),
            qdrant: at(5),
            secrets: "http://127.0.0.1:6".to_owned(),
        }
    }

    fn overlay_of_repository_template() -> (Value, Value, BTreeMap<String, String>) {
        let model = Model::Mock(mock_model::Provider::default());
        let folder = tempfile::tempdir().unwrap();
        let keys = ServiceKeys::from_folder(folder.path()).unwrap();
        let environment = container_environment(endpoints(), &keys, Some("172.17.0.1"), &model).unwrap();
        assert_eq!(environment["AWS_SECRET_ACCESS_KEY"], keys.secret());
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let template = read_template(&repository.join("template.yaml")).unwrap();
        let (template, values) = overlay(template, &environment, Path::new("/build"));
        (template, values, environment)
    }

    #[test]
    fn every_function_has_its_variables_declared_and_set() {
        let (template, values, environment) = overlay_of_repository_template();
        let declared = template.pointer("/Globals/Function/Environment/Variables").unwrap();
        for function in Function::ALL {
            let values = values[function.resource()].as_object().unwrap();
            let own = template["Resources"][function.resource()].pointer("/Properties/Environment/Variables");
            for name in values.keys() {
                let is_declared = declared.get(name).or_else(|| own?.get(name)).is_some();
                assert!(is_declared, "{name} of {} is not declared", function.name());
            }
            for (name, value) in &environment {
                let value = if name == "AWS_ACCESS_KEY_ID" { &function.access_key() } else { value };
                assert_eq!(values[name], *value, "{name}");
            }
            let code = &template["Resources"][function.resource()]["Properties"]["CodeUri"];
            assert_eq!(code, &json!(format!("/build/{}", function.resource())));
        }
        assert_eq!(values.as_object().unwrap().len(), Function::ALL.len());
        assert_eq!(values["ExecuteFunction"]["OPENAI_API_KEY_SECRET_ARN"], "");
        assert_eq!(values["SessionReadFunction"]["BUFFERED_RESPONSES"], "true");
        assert_eq!(values["ExecuteFunction"]["FINALIZE_QUEUE_URL"], "http://172.17.0.1:3/123456789012/q");
        assert_eq!(values["ExecuteFunction"]["OPENAI_BASE_URL"], "http://172.17.0.1:4/v1");
    }

    #[test]
    fn template_without_short_forms_is_equivalent() {
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
    fn invalid_host_is_refused() {
        assert!(matches!(with_host(endpoints(), Some("a b")), Err(Error::Host(_))));
    }
}
