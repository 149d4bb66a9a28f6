use std::path::Path;

use serde_json::Value;

use super::{Init, Language, Project, connection_name, run};

fn init(folder: &Path, name: Option<&str>, language: Language) -> Result<String, String> {
    let arguments = arguments(folder, name, Project::Client, language, None);
    run(&arguments).map_err(|error| error.to_string())
}

fn arguments(
    folder: &Path,
    name: Option<&str>,
    template: Project,
    language: Language,
    url: Option<&str>,
) -> Init {
    let (name, url) = (name.map(str::to_owned), url.map(str::to_owned));
    Init { folder: folder.to_owned(), name, template, language, url }
}

fn init_tool(folder: &Path, template: Project, url: Option<&str>) -> Result<String, String> {
    let arguments = arguments(folder, Some("help_desk"), template, Language::Python, url);
    run(&arguments).map_err(|error| error.to_string())
}

fn is_valid(kind: &str, document: &Value) -> bool {
    let mut content = document.clone();
    content.as_object_mut().unwrap().remove("Kind");
    local::contexts::with_defaults(kind, &content).is_some()
}

#[test]
fn tool_project_has_valid_documents_that_name_each_other() {
    for (template, url) in
        [(Project::HttpTool, None), (Project::McpTool, Some("https://tools.example.com/mcp"))]
    {
        let folder = tempfile::tempdir().unwrap();
        let text = init_tool(folder.path(), template, url).unwrap();
        assert!(!text.contains("vendor"), "{text}");
        let read = |name| std::fs::read_to_string(folder.path().join(name)).unwrap();
        let connection: Value = serde_json::from_str(&read("connection.json")).unwrap();
        assert_eq!(connection["Id"], "help-desk-api");
        assert_eq!(connection["Url"], url.unwrap_or("http://127.0.0.1:8123/v1"));
        assert!(is_valid("connection", &connection));
        let documents: Value = serde_json::from_str(&read("agent.json")).unwrap();
        assert!(documents[0]["Tools"][0].as_str().unwrap().starts_with("help-desk-api"), "{documents}");
        assert!(is_valid("agent", &documents[0]) && is_valid("conversation", &documents[1]));
        let readme = read("README.md");
        assert!(readme.contains("aptix connections") && !readme.contains("{{"), "{readme}");
    }
}

#[test]
fn url_is_for_a_connection_and_fits_into_a_document() {
    let folder = tempfile::tempdir().unwrap();
    for (template, url) in [
        (Project::Client, "https://example.com"),
        (Project::HttpTool, "example.com"),
        (Project::HttpTool, "https://example.com/\"x"),
    ] {
        let error = init_tool(folder.path(), template, Some(url)).unwrap_err();
        assert!(error.to_lowercase().contains("url"), "{url}: {error}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn connection_of_every_agent_name_has_a_valid_id() {
    let long = "a".repeat(64);
    for (agent, id) in
        [("help_desk", "help-desk-api"), ("7-of-9", "of-9-api"), ("42", "api"), ("a-", "a-api")]
    {
        assert_eq!(connection_name(agent), id);
    }
    assert_eq!(connection_name(&long).len(), 32);
}

#[test]
fn project_has_its_name_in_every_placeholder() {
    for language in [Language::Python, Language::Javascript] {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("My Agent");
        let text = init(&folder, None, language).unwrap();
        assert!(text.starts_with("Created the agent my-agent in "), "{text}");
        let mut files = 0;
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                assert!(path.join("aptix/README.md").is_file() && text.contains("vendor"), "{text}");
                continue;
            }
            let content = std::fs::read_to_string(&path).unwrap();
            assert!(!content.contains("{{"), "{}", path.display());
            assert!(text.contains(path.file_name().unwrap().to_str().unwrap()), "{text}");
            files += 1;
        }
        assert_eq!(files, 9);
    }
}

#[test]
fn contexts_of_a_project_name_each_other() {
    let folder = tempfile::tempdir().unwrap();
    init(folder.path(), Some("clerk"), Language::Python).unwrap();
    let text = std::fs::read_to_string(folder.path().join("contexts.json")).unwrap();
    let contexts: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(contexts[0]["Kind"], "agent");
    assert_eq!(contexts[0]["DefaultConversationContextId"], contexts[1]["Id"]);
    assert_eq!(contexts[0]["Id"], "clerk");
}

#[test]
fn compose_file_copies_files_of_the_project_and_reads_its_environment() {
    for (language, command) in [(Language::Python, "agent.py"), (Language::Javascript, "agent.js")] {
        let folder = tempfile::tempdir().unwrap();
        init(folder.path(), Some("clerk"), language).unwrap();
        let text = std::fs::read_to_string(folder.path().join("compose.yaml")).unwrap();
        let compose: Value = yaml_serde::from_str(&text).unwrap();
        let agent = &compose["services"]["agent"];
        assert_eq!(agent["env_file"], ".env");
        let steps = agent["build"]["dockerfile_inline"].as_str().unwrap();
        let copied: Vec<&str> = steps
            .lines()
            .filter_map(|line| line.strip_prefix("COPY "))
            .flat_map(|files| files.split(' ').filter(|file| !file.starts_with('.')))
            .collect();
        assert!(copied.contains(&command) && steps.contains(&format!("{command:?}]")), "{steps}");
        for file in copied {
            assert!(folder.path().join(file).exists(), "{file}");
        }
        let environment = std::fs::read_to_string(folder.path().join(".env.example")).unwrap();
        assert!(environment.contains("APTIX_URL=") && environment.contains("APTIX_TOKEN="), "{environment}");
    }
}

#[test]
fn existing_file_is_kept_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("README.md"), "mine").unwrap();
    let error = init(folder.path(), Some("clerk"), Language::Python).unwrap_err();
    assert!(error.ends_with("README.md exists already. Choose another folder."), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(std::fs::read_to_string(folder.path().join("README.md")).unwrap(), "mine");
}

#[test]
fn invalid_and_reserved_names_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (name, why) in [("", "Invalid"), ("Ünï", "Invalid"), ("a/b", "Invalid"), ("workspace", "is reserved")]
    {
        let error = init(folder.path(), Some(name), Language::Python).unwrap_err();
        assert!(error.contains(why), "{name}: {error}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
