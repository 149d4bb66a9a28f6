//! `aptix chat`: a conversation in the terminal, or a single question in a pipe.

mod advice;
mod approval;
mod attachment;
mod blocks;
mod command;
mod conversation;
mod deployment;
mod line_editor;
mod markdown;
mod response;
mod screen;
mod tools;

use std::io::{IsTerminal, Read};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::failure::{Failure, INTERRUPTED, InvalidOption, with_sources};
use crate::workspace::Workspace;
use approval::Approval;
use attachment::Attachment;
use command::Command;
use conversation::{Conversation, Outcome};
use deployment::{Deployment, DeploymentArgs};
use line_editor::{Input, LineEditor};
use screen::Screen;
use tools::Tools;

/// Agent whose client tools work on a folder.
const WORKSPACE_AGENT: &str = "workspace";

#[derive(Debug, Args)]
pub(crate) struct Chat {
    /// Instruction to send before exiting; piped input is attached as a file
    #[arg(value_name = "INSTRUCTION")]
    instruction: Vec<String>,
    /// Session to continue
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Agent context of a new session [default: `workspace` with --workspace]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Folder that the agent may read, and change with your approval
    #[arg(long, value_name = "FOLDER")]
    workspace: Option<PathBuf>,
    /// Apply the agent's patches without asking for approval, except patches of hidden files, keys and Git's own files
    #[arg(long, requires = "workspace")]
    yes: bool,
    /// File or image to attach to the first instruction; can be repeated
    #[arg(long = "attach", value_name = "FILE")]
    attached: Vec<PathBuf>,
    #[command(flatten)]
    deployment: DeploymentArgs,
}

/// Runs the chat until the user quits, or sends a single instruction.
pub(crate) async fn run(arguments: Chat) -> Result<ExitCode, Failure> {
    let is_terminal = std::io::stdin().is_terminal();
    let editor = LineEditor::new()?;
    let tools = open_tools(&arguments, is_terminal.then_some(&editor))?;
    let Chat { instruction, session, agent, attached, deployment, .. } = arguments;
    let attached = attached.iter().zip(1..).map(|(path, number)| Attachment::read(path, number));
    let attached: Vec<_> = attached.collect::<Result<_, _>>().map_err(InvalidOption::new)?;
    let mut screen = Screen::new();
    let deployment = Deployment::open(deployment).await?;
    let started_note = deployment.started_note();
    let Deployment { api, operator_api, name, started_cloud } = deployment;
    let agent = agent.or_else(|| tools.workspace.is_some().then(|| WORKSPACE_AGENT.to_owned()));
    let mut conversation = Conversation::new(api, operator_api, agent, tools);
    attached.into_iter().for_each(|attachment| conversation.attach(attachment));
    let outcome = async {
        if is_terminal && instruction.is_empty() {
            conversation.set_interactive();
            screen.note(&format!("{name}. Type /help for commands."));
            if let Some(session) = &session {
                conversation.open(session, &mut screen).await?;
            }
            return read_loop(&mut conversation, &editor, &mut screen).await;
        }
        if let Some(session) = session {
            conversation.set_session(session).await?;
        }
        if let Some(note) = started_note {
            eprintln!("{note}");
        }
        let instruction = read_instruction(instruction.join(" "), is_terminal, &mut conversation)?;
        conversation.ask(&instruction, &mut screen).await
    };
    let outcome = outcome.await;
    started_cloud.shutdown().await;
    Ok(match outcome? {
        Outcome::Answered => ExitCode::SUCCESS,
        Outcome::Failed => ExitCode::FAILURE,
        Outcome::Stopped | Outcome::Quit => ExitCode::from(INTERRUPTED),
    })
}

/// Opens the workspace and selects the approval policy.
fn open_tools(arguments: &Chat, editor: Option<&LineEditor>) -> Result<Tools, Failure> {
    let open = |folder: &PathBuf| {
        Workspace::open(folder)
            .map_err(|error| InvalidOption::new(format!("--workspace {}: {error}", folder.display())))
    };
    let approval = Approval { applies_all: arguments.yes, editor: editor.cloned() };
    Ok(Tools { workspace: arguments.workspace.as_ref().map(open).transpose()?, approval })
}

/// Returns the single instruction. Piped input is attached as a file, or is the instruction itself if there is no
/// other.
fn read_instruction(
    instruction: String,
    is_terminal: bool,
    conversation: &mut Conversation,
) -> Result<String, Failure> {
    if is_terminal {
        return Ok(instruction);
    }
    let mut input = Vec::new();
    std::io::stdin().take(attachment::MAX_BYTES + 1).read_to_end(&mut input)?;
    if input.len() as u64 > attachment::MAX_BYTES {
        let max = attachment::MAX_BYTES;
        return Err(format!("the piped input is larger than {max} bytes, the limit of a request").into());
    }
    if instruction.is_empty() {
        return Ok(String::from_utf8(input)
            .map_err(|_| "the piped input is not text; pass an instruction about it")?);
    }
    if !input.is_empty() {
        conversation.attach(Attachment::from_stdin(input));
    }
    Ok(instruction)
}

/// Reads and handles lines until the user quits.
async fn read_loop(
    conversation: &mut Conversation,
    editor: &LineEditor,
    screen: &mut Screen,
) -> Result<Outcome, Failure> {
    let mut was_interrupted = false;
    loop {
        let line = match editor.read_instruction().await? {
            Input::Line(line) => line,
            Input::End => return Ok(Outcome::Answered),
            Input::Interrupted if was_interrupted => return Ok(Outcome::Quit),
            Input::Interrupted => {
                was_interrupted = true;
                screen.note("Press Ctrl-C again to quit, or Ctrl-D.");
                continue;
            }
        };
        was_interrupted = false;
        let result = match Command::parse(&line) {
            Some(Ok(Command::Quit)) => return Ok(Outcome::Answered),
            Some(Ok(command)) => run_command(command, conversation, screen).await,
            Some(Err(why)) => Err(why.into()),
            None if line.trim().is_empty() && conversation.attachment_count() == 0 => continue,
            None => conversation.ask(line.trim(), screen).await,
        };
        match result {
            Ok(Outcome::Quit) => return Ok(Outcome::Quit),
            Ok(_) => {}
            Err(error) => screen.error(&with_sources(error.as_ref())),
        }
    }
}

/// Runs a slash command.
async fn run_command(
    command: Command,
    conversation: &mut Conversation,
    screen: &mut Screen,
) -> Result<Outcome, Failure> {
    match command {
        Command::New => {
            conversation.new_session();
            screen.note("The next instruction starts a new session.");
        }
        Command::Sessions => conversation.list(screen).await?,
        Command::Open(which) => return conversation.open(&which, screen).await,
        Command::Attach(paths) => {
            for path in paths {
                conversation.attach(Attachment::read(&path, conversation.attachment_count() + 1)?);
            }
            screen.note(&format!("{} attached to the next instruction.", conversation.attachment_count()));
        }
        Command::Mode(None) => conversation.mode(screen).await?,
        Command::Mode(Some(mode)) => {
            conversation.check_mode(&mode).await?;
            let outcome = conversation.ask(&format!("Change to the mode {mode}."), screen).await?;
            conversation.report_mode(&mode, screen).await?;
            return Ok(outcome);
        }
        Command::Visibility(name) => conversation.visibility(name.as_deref(), screen).await?,
        Command::Usage => conversation.usage(screen).await?,
        Command::Retry => return conversation.retry(screen).await,
        Command::Help => screen.note(&command::help()),
        // The read loop handles it.
        Command::Quit => {}
    }
    Ok(Outcome::Answered)
}
