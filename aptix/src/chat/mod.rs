//! `aptix chat`: a talk in the terminal, or one question in a pipe.

mod attachment;
mod blocks;
mod command;
mod conversation;
mod deployment;
mod prompt;
mod screen;
mod tools;

use std::io::{IsTerminal, Read};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::Failure;
use crate::workspace::Workspace;
use attachment::Attachment;
use command::Command;
use conversation::{Conversation, Ended};
use deployment::{Deployment, Reach};
use prompt::{Prompt, Typed};
use screen::Screen;
use tools::{Approval, Tools};

/// What a shell calls a program that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

#[derive(Debug, Args)]
pub(crate) struct Chat {
    /// Ask this and end. What comes through a pipe goes along as a file.
    #[arg(value_name = "INSTRUCTION")]
    instruction: Vec<String>,
    /// Go on with this session.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// The agent context of a new session.
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Let the agent read this folder, and change it when you say yes.
    #[arg(long, value_name = "FOLDER")]
    workspace: Option<PathBuf>,
    /// Apply the agent's patches without asking.
    #[arg(long, requires = "workspace")]
    yes: bool,
    /// Send a file or an image with the first instruction; may be repeated.
    #[arg(long = "attach", value_name = "FILE")]
    attached: Vec<PathBuf>,
    #[command(flatten)]
    reach: Reach,
}

/// Talks until the user leaves, or asks the one question.
pub(crate) async fn run(arguments: Chat) -> Result<ExitCode, Failure> {
    let is_typed = std::io::stdin().is_terminal();
    let prompt = Prompt::new()?;
    let tools = tools(&arguments, is_typed.then_some(&prompt))?;
    let Chat { instruction, session, agent, attached, reach, .. } = arguments;
    let attached = attached.iter().zip(1..).map(|(path, number)| Attachment::read(path, number));
    let attached: Vec<_> = attached.collect::<Result<_, _>>()?;
    let mut screen = Screen::new();
    let Deployment { api, name, running } = Deployment::open(reach).await?;
    let mut talk = Conversation::new(api, agent, tools);
    attached.into_iter().for_each(|attachment| talk.attach(attachment));
    let talked = async {
        if is_typed && instruction.is_empty() {
            screen.note(&format!("{name}. /help shows the commands."));
            if let Some(session) = &session {
                talk.open(session, &mut screen).await?;
            }
            return converse(&mut talk, &prompt, &mut screen).await;
        }
        if let Some(session) = session {
            talk.go_on(session);
        }
        let instruction = question(instruction.join(" "), is_typed, &mut talk)?;
        talk.ask(&instruction, &mut screen).await
    };
    let talked = talked.await;
    running.end().await;
    Ok(match talked? {
        Ended::Answered => ExitCode::SUCCESS,
        Ended::Failed => ExitCode::FAILURE,
        Ended::Stopped | Ended::Left => ExitCode::from(INTERRUPTED),
    })
}

/// What the agent may do here, and who is asked.
fn tools(arguments: &Chat, prompt: Option<&Prompt>) -> Result<Tools, Failure> {
    let open = |folder: &PathBuf| {
        Workspace::open(folder).map_err(|error| format!("--workspace {}: {error}", folder.display()))
    };
    let approval = match prompt {
        _ if arguments.yes => Approval::Always,
        Some(prompt) => Approval::Ask(prompt.clone()),
        None => Approval::Never,
    };
    Ok(Tools { workspace: arguments.workspace.as_ref().map(open).transpose()?, approval })
}

/// The one question. What comes through a pipe is a file beside it, or the question itself where there is no other.
fn question(instruction: String, is_typed: bool, talk: &mut Conversation) -> Result<String, Failure> {
    if is_typed {
        return Ok(instruction);
    }
    let mut piped = Vec::new();
    std::io::stdin().take(attachment::LARGEST + 1).read_to_end(&mut piped)?;
    if piped.len() as u64 > attachment::LARGEST {
        let largest = attachment::LARGEST;
        return Err(
            format!("what comes through the pipe is larger than a request may be ({largest} bytes)").into()
        );
    }
    if instruction.is_empty() {
        return Ok(String::from_utf8(piped)
            .map_err(|_| "what comes through the pipe is no text: ask something about it")?);
    }
    if !piped.is_empty() {
        talk.attach(Attachment::piped(piped));
    }
    Ok(instruction)
}

/// Line after line.
async fn converse(talk: &mut Conversation, prompt: &Prompt, screen: &mut Screen) -> Result<Ended, Failure> {
    let mut was_interrupted = false;
    loop {
        let line = match prompt.instruction().await? {
            Typed::Line(line) => line,
            Typed::End => return Ok(Ended::Answered),
            Typed::Interrupted if was_interrupted => return Ok(Ended::Left),
            Typed::Interrupted => {
                was_interrupted = true;
                screen.note("Ctrl-C again leaves, and so does Ctrl-D.");
                continue;
            }
        };
        was_interrupted = false;
        let done = match Command::parse(&line) {
            Some(Ok(Command::Quit)) => return Ok(Ended::Answered),
            Some(Ok(command)) => obey(command, talk, screen).await,
            Some(Err(why)) => Err(why.into()),
            None if line.trim().is_empty() && talk.attached() == 0 => continue,
            None => talk.ask(line.trim(), screen).await,
        };
        match done {
            Ok(Ended::Left) => return Ok(Ended::Left),
            Ok(_) => {}
            Err(error) => screen.error(&crate::with_sources(error.as_ref())),
        }
    }
}

/// Does what a command says.
async fn obey(command: Command, talk: &mut Conversation, screen: &mut Screen) -> Result<Ended, Failure> {
    match command {
        Command::New => {
            talk.begin();
            screen.note("a new session begins with the next instruction");
        }
        Command::Sessions => talk.list(screen).await?,
        Command::Open(which) => return talk.open(&which, screen).await,
        Command::Attach(paths) => {
            for path in paths {
                talk.attach(Attachment::read(&path, talk.attached() + 1)?);
            }
            screen.note(&format!("{} go with the next instruction", talk.attached()));
        }
        Command::Mode(None) => talk.mode(screen).await?,
        Command::Mode(Some(mode)) => return talk.ask(&format!("Change to the mode {mode}."), screen).await,
        Command::Usage => talk.usage(screen).await?,
        Command::Retry => return talk.again(screen).await,
        Command::Help => screen.note(&command::help()),
        // The loop leaves by itself.
        Command::Quit => {}
    }
    Ok(Ended::Answered)
}
