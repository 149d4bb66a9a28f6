//! Templates of a project's files.

use clap::ValueEnum;

/// Placeholder of the agent's name.
const NAME: &str = "{{name}}";

/// The language of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    Python,
    Javascript,
}

/// A file of a project.
#[derive(Debug)]
pub(super) struct Template {
    /// Name of the file in the project's folder.
    pub(super) path: &'static str,
    /// A few words about the file, for the terminal.
    pub(super) description: &'static str,
    text: &'static str,
}

impl Template {
    /// Returns the file's text for an agent.
    pub(super) fn render(&self, name: &str) -> String {
        self.text.replace(NAME, name)
    }
}

/// Defines a template whose text is a file of `aptix/templates`.
macro_rules! template {
    ($folder:literal, $file:literal as $path:literal, $description:literal) => {
        Template {
            path: $path,
            description: $description,
            text: include_str!(concat!("../../templates/", $folder, "/", $file)),
        }
    };
}

const PYTHON: [Template; 9] = [
    template!("shared", "contexts.json" as "contexts.json", "agent and conversation, for `aptix contexts put`"),
    template!("python", "tools.py" as "tools.py", "tools of the agent"),
    template!("python", "agent.py" as "agent.py", "chat with the agent in the terminal"),
    template!("python", "test_agent.py" as "test_agent.py", "test against the mock model"),
    template!("python", "requirements.txt" as "requirements.txt", "packages"),
    template!("shared", "env.example" as ".env.example", "addresses and keys"),
    template!("shared", "gitignore" as ".gitignore", "files that stay here"),
    template!("python", "compose.yaml" as "compose.yaml", "the chat in a container"),
    template!("python", "README.md" as "README.md", "commands to run, change and deploy it"),
];

const JAVASCRIPT: [Template; 9] = [
    template!("shared", "contexts.json" as "contexts.json", "agent and conversation, for `aptix contexts put`"),
    template!("javascript", "tools.js" as "tools.js", "tools of the agent"),
    template!("javascript", "agent.js" as "agent.js", "chat with the agent in the terminal"),
    template!("javascript", "agent.test.js" as "agent.test.js", "test against the mock model"),
    template!("javascript", "package.json" as "package.json", "packages"),
    template!("shared", "env.example" as ".env.example", "addresses and keys"),
    template!("shared", "gitignore" as ".gitignore", "files that stay here"),
    template!("javascript", "compose.yaml" as "compose.yaml", "the chat in a container"),
    template!("javascript", "README.md" as "README.md", "commands to run, change and deploy it"),
];

/// Returns the templates of a language.
pub(super) const fn of(language: Language) -> &'static [Template] {
    match language {
        Language::Python => &PYTHON,
        Language::Javascript => &JAVASCRIPT,
    }
}
