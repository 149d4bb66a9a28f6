//! The directive's grammar, see the crate's documentation.

use std::time::Duration;

use serde_json::{Value, json};

use crate::deviations::Deviation;
use crate::reply::{Cut, Drops, End, Outlived, Reply, Status, Step, Unit, Usage};

const OPENING: &str = "[[script:";
/// Of a directive about a text that is to be embedded.
const EMBEDDED: &str = "[[embed:";
/// Of a directive about turns that are to be summed up.
const SUMMED: &str = "[[summed:";
/// Of a directive about a turn that is to get a title.
const TITLED: &str = "[[titled:";
const LONGEST_WAIT: Duration = Duration::from_secs(15 * 60);
const MOST_STEPS: usize = 256;
const MOST_TEXT: usize = 4 << 20;
const MOST_CALLS: usize = 64;

/// Error for an unreadable directive.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the script can't be read at `{near}`: expected {expected}")]
pub(crate) struct Unreadable {
    expected: &'static str,
    near: String,
}

/// The replies that the instruction's directive asks for; nothing when it holds none.
pub(crate) fn read(instruction: &str) -> Result<Option<Vec<Reply>>, Unreadable> {
    match instruction.split_once(OPENING) {
        Some((_, rest)) => steps(rest).map(Some),
        None => Ok(None),
    }
}

/// The replies that earlier turns ask for which are to be summed up.
pub(crate) fn read_earlier(turns: &str) -> Result<Option<Vec<Reply>>, Unreadable> {
    turns.split_once(SUMMED).map(|(_, rest)| steps(rest)).transpose()
}

/// The replies that a turn asks for which is to get a title.
pub(crate) fn read_titled(turn: &str) -> Result<Option<Vec<Reply>>, Unreadable> {
    turn.split_once(TITLED).map(|(_, rest)| steps(rest)).transpose()
}

/// The replies that a text asks for which is to be embedded and begins with a directive.
pub(crate) fn read_leading(text: &str) -> Result<Option<Vec<Reply>>, Unreadable> {
    text.strip_prefix(EMBEDDED).map(steps).transpose()
}

fn steps(rest: &str) -> Result<Vec<Reply>, Unreadable> {
    let mut script = Script { rest, room: MOST_TEXT };
    let mut replies = vec![Reply::default()];
    for _ in 0..MOST_STEPS {
        script.skip_separators();
        if script.taken("]]") {
            return Ok(replies);
        }
        let word = script.word("a step or `]]`")?;
        if word == "then" {
            replies.push(Reply::default());
        } else if let Some(reply) = replies.last_mut() {
            script.step(word, reply)?;
        }
        script.end_of_step()?;
    }
    Err(script.unreadable("at most 256 steps"))
}

struct Script<'a> {
    rest: &'a str,
    /// Remaining text budget of the replies.
    room: usize,
}

impl<'a> Script<'a> {
    fn step(&mut self, word: &str, reply: &mut Reply) -> Result<(), Unreadable> {
        match word {
            "say" => {
                let text = self.string()?;
                self.take_room(text.len(), 1)?;
                reply.steps.push(Step::Say(text));
            }
            "words" => {
                let count = self.number("a number of words", 100_000)?;
                self.take_room("word100000 ".len(), count)?;
                let words: Vec<String> = (1..=count).map(|n| format!("word{n}")).collect();
                reply.steps.push(Step::Say(words.join(" ")));
            }
            "repeat" => {
                let text = self.string()?;
                let count = self.number("a number of times", 1_000_000)?;
                self.take_room(text.len(), count)?;
                reply.steps.push(Step::Say(text.repeat(count)));
            }
            "echo" => reply.steps.push(Step::Echo),
            "phase" => reply.steps.push(Step::Phase(self.word("a phase")?.to_owned())),
            "think" => reply.steps.push(Step::Think(self.string()?)),
            "hosted" => {
                let kind = self.word("the type of an item")?.to_owned();
                let members = self.value().unwrap_or_else(|| json!({}));
                reply.steps.push(Step::Hosted { kind, members });
            }
            "cite" => {
                let annotation = self.value().ok_or_else(|| self.unreadable("an annotation"))?;
                reply.steps.push(Step::Cite(annotation));
            }
            "refuse" => reply.steps.push(Step::Refuse(self.string()?)),
            "call" => {
                let calls = |step: &&Step| matches!(step, Step::Call { .. });
                if reply.steps.iter().filter(calls).count() == MOST_CALLS {
                    return Err(self.unreadable("at most 64 calls"));
                }
                let name = match self.rest.trim_start().starts_with('"') {
                    true => self.string()?,
                    false => self.word("the name of a tool")?.to_owned(),
                };
                let arguments = self.value().unwrap_or_else(|| json!({}));
                reply.steps.push(Step::Call { name, arguments });
            }
            "pace" => reply.steps.push(Step::Pace(self.duration()?)),
            "chunk" => {
                let characters = self.number("a number of characters", MOST_TEXT)?.max(1);
                reply.steps.push(Step::Chunk(characters));
            }
            "hang" => reply.steps.push(Step::Hang(self.duration()?)),
            "unknown" => {
                self.keyword("event")?;
                reply.steps.push(Step::UnknownEvent);
            }
            "malformed" => reply.steps.push(Step::Malformed),
            "status" => {
                let status = self.number("an HTTP status", 599)?;
                if status < 400 {
                    return Err(self.unreadable("a status of 400 or more"));
                }
                let status = u16::try_from(status).unwrap_or(500);
                reply.statuses.push(self.status(Status { status, ..Status::default() })?);
            }
            "overflow" => {
                reply.statuses.push(self.status(Status { overflow: true, ..Status::default() })?);
            }
            "forget" => reply.statuses.push(Status {
                status: 400,
                code: Some("previous_response_not_found".to_owned()),
                chained: true,
                ..Status::default()
            }),
            "delay" => reply.delay = self.duration()?,
            "silent" => reply.silent = true,
            "outlives" => {
                reply.outlives = Some(match self.next_word() {
                    None => Outlived::Ended,
                    Some("unfinished") => Outlived::Unfinished,
                    Some(_) => return Err(self.unreadable("`unfinished` before this")),
                });
            }
            "drop" => reply.drops = Some(self.drops()?),
            "cut" => reply.cut = Some(self.cut(false)?),
            "reset" => reply.cut = Some(self.cut(true)?),
            "fail" => reply.end = End::Fail(self.word_or("server_error")),
            "error" => reply.end = End::Error(self.word_or("server_error")),
            "incomplete" => reply.end = End::Incomplete(self.word_or("max_output_tokens")),
            "unended" => reply.end = End::Missing,
            "usage" => reply.usage = self.usage()?,
            "quirk" => {
                let deviation = Deviation::named(self.word("the name of a quirk")?);
                reply.deviations.push(deviation.ok_or_else(|| self.unreadable("a known quirk before this"))?);
            }
            "finally" => reply.deviations.push(Deviation::Finally(self.string()?)),
            "as" => reply.deviations.push(Deviation::As(self.string()?)),
            "id" => {
                let number = self.number("a number", usize::MAX)?;
                reply.id = u64::try_from(number).ok();
            }
            "no" => {
                self.keyword("usage")?;
                reply.usage = Usage::None;
            }
            _ => return Err(self.unreadable("a known step before this")),
        }
        Ok(())
    }

    fn take_room(&mut self, bytes: usize, times: usize) -> Result<(), Unreadable> {
        match self.room.checked_sub(bytes.saturating_mul(times)) {
            Some(room) => self.room = room,
            None => return Err(self.unreadable("at most 4 MiB of text before this")),
        }
        Ok(())
    }

    fn status(&mut self, mut status: Status) -> Result<Status, Unreadable> {
        while let Some(option) = self.next_word() {
            match option {
                "code" => status.code = Some(self.word("a code")?.to_owned()),
                "type" => status.kind = Some(self.word("a type")?.to_owned()),
                "param" => status.param = Some(self.word("a parameter")?.to_owned()),
                "message" => status.message = Some(self.string()?),
                "times" => status.times = Some(self.times()?),
                "over" => {
                    let words = self.number("a number of words", 1_000_000)?;
                    status.over = Some(u64::try_from(words).unwrap_or(u64::MAX));
                }
                "for" => status.only = Some(self.word("the name of a model or provider")?.to_owned()),
                "chained" => status.chained = true,
                "header" => {
                    let name = self.word("a header's name")?.to_owned();
                    status.headers.push((name, self.string()?));
                }
                "retry-after" | "retry-after-ms" | "x-should-retry" => {
                    let value = self.word("a header's value")?.to_owned();
                    status.headers.push((option.to_owned(), value));
                }
                _ => return Err(self.unreadable("an option of `status` before this")),
            }
        }
        Ok(status)
    }

    fn drops(&mut self) -> Result<Drops, Unreadable> {
        let times = match self.next_word() {
            None => None,
            Some("times") => Some(self.times()?),
            Some(_) => return Err(self.unreadable("`times` before this")),
        };
        Ok(Drops { times })
    }

    fn times(&mut self) -> Result<u32, Unreadable> {
        let times = self.number("a number of times", 1_000_000)?;
        Ok(u32::try_from(times).unwrap_or(u32::MAX))
    }

    fn cut(&mut self, reset: bool) -> Result<Cut, Unreadable> {
        self.keyword("after")?;
        let after = self.number("a number of events or bytes", MOST_TEXT)?;
        let unit = match self.word("`events` or `bytes`")? {
            "event" | "events" => Unit::Events,
            "byte" | "bytes" => Unit::Bytes,
            _ => return Err(self.unreadable("`events` or `bytes` before this")),
        };
        Ok(Cut { after, unit, reset })
    }

    fn usage(&mut self) -> Result<Usage, Unreadable> {
        let count = |script: &mut Self| {
            let count = script.number("a number of tokens", 1_000_000_000)?;
            Ok(u64::try_from(count).unwrap_or(u64::MAX))
        };
        let (input, output) = (count(self)?, count(self)?);
        let (mut cached, mut written, mut reasoning) = (0, 0, 0);
        while let Some(option) = self.next_word() {
            match option {
                "cached" => cached = count(self)?,
                "written" => written = count(self)?,
                "reasoning" => reasoning = count(self)?,
                _ => return Err(self.unreadable("`cached`, `written` or `reasoning` before this")),
            }
        }
        Ok(Usage::Stated { input, output, cached, written, reasoning })
    }

    fn duration(&mut self) -> Result<Duration, Unreadable> {
        let expected = "a duration such as 20ms, 5s or 2m, at most 15m";
        let word = self.word(expected)?;
        let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = match word.get(digits.len()..) {
            Some("ms") => 1,
            Some("s") => 1_000,
            Some("m") => 60_000,
            _ => return Err(self.unreadable(expected)),
        };
        let count: u64 = digits.parse().map_err(|_| self.unreadable(expected))?;
        let duration = Duration::from_millis(count.saturating_mul(unit));
        if duration > LONGEST_WAIT {
            return Err(self.unreadable(expected));
        }
        Ok(duration)
    }

    fn number(&mut self, expected: &'static str, most: usize) -> Result<usize, Unreadable> {
        let word = self.word(expected)?;
        let number = word.parse().ok().filter(|number| *number <= most);
        number.ok_or_else(|| self.unreadable(expected))
    }

    fn string(&mut self) -> Result<String, Unreadable> {
        match self.value() {
            Some(Value::String(text)) => Ok(text),
            _ => Err(self.unreadable("a JSON string")),
        }
    }

    /// Takes a JSON value, if one comes next.
    fn value(&mut self) -> Option<Value> {
        self.skip_spaces();
        let mut values = serde_json::Deserializer::from_str(self.rest).into_iter::<Value>();
        let value = values.next()?.ok()?;
        let (_, rest) = self.rest.split_at_checked(values.byte_offset())?;
        self.rest = rest;
        Some(value)
    }

    fn keyword(&mut self, keyword: &'static str) -> Result<(), Unreadable> {
        match self.word(keyword)? {
            word if word == keyword => Ok(()),
            _ => Err(self.unreadable(keyword)),
        }
    }

    fn word_or(&mut self, otherwise: &str) -> String {
        self.next_word().unwrap_or(otherwise).to_owned()
    }

    fn word(&mut self, expected: &'static str) -> Result<&'a str, Unreadable> {
        self.next_word().ok_or_else(|| self.unreadable(expected))
    }

    fn next_word(&mut self) -> Option<&'a str> {
        self.skip_spaces();
        let part_of_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let end = self.rest.find(|c| !part_of_word(c));
        let (word, rest) = self.rest.split_at_checked(end.unwrap_or(self.rest.len()))?;
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    fn end_of_step(&mut self) -> Result<(), Unreadable> {
        self.skip_spaces();
        if self.rest.starts_with([';', '\n', '\r']) || self.rest.starts_with("]]") {
            return Ok(());
        }
        Err(self.unreadable("`;`, a line end or `]]`"))
    }

    fn taken(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    fn skip_separators(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n', ';']);
    }

    fn unreadable(&self, expected: &'static str) -> Unreadable {
        let near = self.rest.chars().take(32).collect();
        Unreadable { expected, near }
    }
}

#[cfg(test)]
mod tests;
