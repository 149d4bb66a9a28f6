//! Templates of a project's files.

use clap::ValueEnum;

/// Names that replace the placeholders of a template.
#[derive(Debug)]
pub(super) struct Names<'a> {
    /// The agent.
    pub(super) agent: &'a str,
    /// The connection, if the project has one.
    pub(super) connection: &'a str,
    /// The URL of the connection.
    pub(super) url: &'a str,
}

/// What a project has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Project {
    /// A client with tools in its code
    Client,
    /// A connection to an HTTP API, whose tools the service calls
    HttpTool,
    /// A connection to an MCP server, whose tools the service calls
    McpTool,
}

impl Project {
    /// Returns an example of the URL that a connection has.
    pub(super) const fn example_url(self) -> &'static str {
        match self {
            Self::McpTool => "http://127.0.0.1:3001/mcp",
            Self::Client | Self::HttpTool => "http://127.0.0.1:8123/v1",
        }
    }
}

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
    /// Returns the file's text with names in place of its placeholders.
    pub(super) fn render(&self, names: &Names<'_>) -> String {
        self.text
            .replace("{{name}}", names.agent)
            .replace("{{connection}}", names.connection)
            .replace("{{url}}", names.url)
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

const HTTP_TOOL: [Template; 3] = [
    template!("http-tool", "connection.json" as "connection.json", "URL, authentication and tools of an HTTP API"),
    template!("http-tool", "agent.json" as "agent.json", "agent that has the tools, and its prompt"),
    template!("http-tool", "README.md" as "README.md", "commands to run and change it"),
];

const MCP_TOOL: [Template; 3] = [
    template!("mcp-tool", "connection.json" as "connection.json", "URL and authentication of an MCP server"),
    template!("mcp-tool", "agent.json" as "agent.json", "agent that has the server's tools, and its prompt"),
    template!("mcp-tool", "README.md" as "README.md", "commands to run and change it"),
];

/// Returns the templates of a project.
pub(super) const fn of(project: Project, language: Language) -> &'static [Template] {
    match (project, language) {
        (Project::Client, Language::Python) => &PYTHON,
        (Project::Client, Language::Javascript) => &JAVASCRIPT,
        (Project::HttpTool, _) => &HTTP_TOOL,
        (Project::McpTool, _) => &MCP_TOOL,
    }
}
