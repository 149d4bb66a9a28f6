use std::path::Path;

use serde_json::Value;

use super::{Init, Language, run};

fn init(folder: &Path, name: Option<&str>, language: Language) -> Result<String, String> {
    let arguments = Init { folder: folder.to_owned(), name: name.map(str::to_owned), language };
    run(&arguments).map_err(|error| error.to_string())
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
