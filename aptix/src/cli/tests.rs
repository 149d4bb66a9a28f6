//! Every command of this program in the documents parses: its names and options exist.

use std::path::{Path, PathBuf};

use clap::Parser;

use super::Cli;

/// Least number of commands. With fewer, the test no longer finds them.
const MIN_COMMANDS: usize = 60;

#[test]
fn commands_of_the_documents_parse() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut pages = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    for folder in ["docs", "clients", "aptix/templates", "examples"] {
        collect(&root.join(folder), &mut pages);
    }
    let mut count = 0;
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        for words in shell_blocks(&text).iter().flat_map(|block| commands(block)) {
            count += 1;
            if let Err(error) = Cli::try_parse_from(&words) {
                let is_help = matches!(
                    error.kind(),
                    clap::error::ErrorKind::DisplayHelp | clap::error::ErrorKind::DisplayVersion
                );
                assert!(is_help, "{}: {}\n{error}", page.display(), words.join(" "));
            }
        }
    }
    assert!(count >= MIN_COMMANDS, "{count}");
}

#[test]
fn command_of_a_script_is_found_in_its_place() {
    let script = "A=1 aptix chat \"a # b\" --yes \\\n  --workspace . # note\nB=$(cargo run -q -p aptix -- token --org o) && cd aptix\n";
    let found = commands(script);
    assert_eq!(
        found,
        [vec!["aptix", "chat", "a # b", "--yes", "--workspace", "."], vec!["aptix", "token", "--org", "o"]]
    );
}

fn collect(folder: &Path, pages: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("node_modules") && !path.ends_with("target") {
            collect(&path, pages);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
}

/// Returns the fenced blocks that a shell runs.
fn shell_blocks(text: &str) -> Vec<String> {
    let (mut blocks, mut open) = (Vec::new(), None::<String>);
    for line in text.lines() {
        let fence = line.trim_start().strip_prefix("```");
        match (fence, &mut open) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some("sh" | "bash" | "shell"), None) => open = Some(String::new()),
            (None, Some(block)) => *block += &format!("{line}\n"),
            _ => {}
        }
    }
    blocks
}

/// Returns the words of each command of this program, with `aptix` first.
fn commands(script: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut word = None::<String>;
    let mut chars = script.chars().peekable();
    let mut end = |words: &mut Vec<String>| found.extend(of_program(&std::mem::take(words)));
    while let Some(char) = chars.next() {
        match char {
            '\\' => match chars.next() {
                Some('\n') | None => {}
                Some(next) => word.get_or_insert_default().push(next),
            },
            '\'' => word.get_or_insert_default().extend(chars.by_ref().take_while(|char| *char != '\'')),
            '"' => {
                let quoted: String = chars.by_ref().take_while(|char| *char != '"').collect();
                // A command within quotes, as in a header with a token.
                match quoted.split_once("$(") {
                    Some((_, inner)) => {
                        end(&mut inner.trim_end_matches(')').split(' ').map(str::to_owned).collect())
                    }
                    None => word.get_or_insert_default().push_str(&quoted),
                }
            }
            '$' if chars.peek() == Some(&'(') => {
                chars.next();
                word = None;
                end(&mut words);
            }
            ' ' | '\t' => words.extend(word.take()),
            '#' if word.is_none() => while chars.next_if(|char| *char != '\n').is_some() {},
            '\n' | ';' | '|' | '&' | ')' | '>' | '<' => {
                words.extend(word.take());
                end(&mut words);
            }
            _ => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    end(&mut words);
    found
}

/// Returns the words of a command if it starts this program, by its name or with cargo.
fn of_program(words: &[String]) -> Option<Vec<String>> {
    let start = words.iter().position(|word| !word.contains('='))?;
    let words = words.get(start..)?;
    let arguments = match words.first()?.as_str() {
        "aptix" => words.get(1..)?,
        "cargo" => {
            let package = words.windows(2).position(|pair| pair == ["-p", "aptix"])?;
            (words.get(1)? == "run").then_some(())?;
            let rest = words.get(package + 2..)?;
            rest.strip_prefix(&["--".to_owned()]).unwrap_or(rest)
        }
        _ => return None,
    };
    Some(std::iter::once("aptix".to_owned()).chain(arguments.iter().cloned()).collect())
}
