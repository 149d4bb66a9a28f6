//! A client always ends up with the answer, whatever is cut, killed and read again.

use crate::checkpoint::Checkpoint;
use agent::outcome::answer::embedded_link;
use protocol::stream_position::Segment;
use std::collections::{BTreeMap, BTreeSet};

use agent::output_filter::filter_text;
use contracts::{
    AgentExecuteResponse, Error, ErrorCode, Fingerprint, Timestamp,
    id::{OrgId, SessionId, TurnId, UserId},
    response::{Final, Metadata},
    stream::{Event, EventId, Kind, Phase, Reasoning, Reset, ResetReason, Status},
};
use proptest::prelude::*;

use super::{conclude::conclude, passage::Cursor, *};
use agent::outcome::{Outcome, Response};
use protocol::{
    detail::Report,
    id::{AttemptId, SessionKey},
    payload,
    turn::{Stage, State, Turn},
};

const NOW: i64 = 1_000_000;

/// A turn in its nth attempt.
pub(super) fn turn(attempts: usize) -> Turn {
    let session = SessionKey { org: OrgId::new("o").unwrap(), session: SessionId::new("s").unwrap() };
    let now = Timestamp::from_millis(NOW);
    let attempts: Vec<AttemptId> =
        (0..attempts).map(|attempt| AttemptId::new(format!("a{attempt}"))).collect();
    Turn {
        key: session.turn(TurnId::new("t").unwrap()),
        sequence: 1,
        parent: protocol::ancestry::ParentRef::in_session(0),
        base_depth: 0,
        fingerprint: Fingerprint::hash_bytes(b"asked"),
        submission_id: None,
        requested_by: UserId::new("ada").unwrap(),
        created: now,
        mode: "general".to_owned(),
        chain: protocol::chain::ChainStart::First,
        takeovers: 0,
        suspended_by: None,
        attempt: AttemptId::new("a0".to_owned()),
        due: None,
        streamed: true,
        accepted_results: None,
        ended_by: None,
        last_step: None,
        checkpoint: None,
        spent: None,
        meters: Vec::new(),
        is_imported: false,
        is_unstored: false,
        answer: None,
        state: State::Running { lease_ends: now, stage: Stage { round: 0, attempts } },
    }
}

pub(super) fn completed(text: &str, segment: Option<Segment>) -> Response {
    let key = turn(1).key;
    let guarded = filter_text(text, |blob| embedded_link(&key, blob));
    let answer = Final {
        metadata: Metadata {
            session_id: key.session.session,
            turn_id: key.turn,
            mode_display_name: "General".to_owned(),
        },
        primary_output_text: guarded.text,
        files: Vec::new(),
        tool_results: Vec::new(),
        user_warnings: Vec::new(),
        usage: None,
    };
    Outcome::completed(AgentExecuteResponse::Final(answer), Report::default(), None)
        .with_segment(segment)
        .response
}

/// The client's state after the events it has read.
#[derive(Debug, Default)]
struct Client {
    last: Option<EventId>,
    text: String,
    results: Vec<String>,
    statuses: Vec<Status>,
}

impl Client {
    fn take(&mut self, event: &Event) {
        assert!(self.results.is_empty(), "{event:?} after the result");
        if let Kind::Status(status) = &event.kind {
            assert_eq!(event.id, None, "a status is no event of the turn");
            return self.statuses.push(status.clone());
        }
        assert!(event.id.is_some() && self.last < event.id, "{event:?} after {:?}", self.last);
        self.last = event.id;
        match &event.kind {
            Kind::Delta(delta) => {
                assert_eq!(delta.index, u64::try_from(self.text.encode_utf16().count()).unwrap());
                self.text.push_str(&delta.text);
            }
            Kind::Reset(_) => self.text.clear(),
            Kind::Status(_) | Kind::Reasoning(_) => unreachable!("taken above"),
            Kind::Result(result) => self.results.push(result.get().to_owned()),
        }
    }

    /// A new connection that resumes after the last event.
    fn cursor(&self) -> Cursor {
        Cursor::after(self.last.map(StreamPosition::from))
    }
}

#[derive(Debug, Clone)]
enum Step {
    /// The model writes.
    Write(String),
    /// A status is written.
    Say,
    /// A tool round begins.
    Round,
    /// The attempt dies and another one takes the turn over, for this client or for another.
    TakeOver { ours: bool },
    /// A checkpoint is written.
    Save,
    /// A file that the text links to is stored.
    Store,
    /// The client reads this many events.
    Read(usize),
    /// The connection breaks, and the client resumes elsewhere.
    Cut,
}

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-z ]{1,12}",
        2 => Just("naïve 🦀 日本\n\n".to_owned()),
        1 => Just("\n```json\n".to_owned()),
        1 => "[A-Za-z0-9]{40,600}",
        1 => Just("data:image/png;base64,".to_owned()),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => piece().prop_map(Step::Write),
        2 => Just(Step::Say),
        1 => Just(Step::Round),
        1 => any::<bool>().prop_map(|ours| Step::TakeOver { ours }),
        3 => Just(Step::Save),
        1 => Just(Step::Store),
        4 => (0_usize..4).prop_map(Step::Read),
        2 => Just(Step::Cut),
    ];
    prop::collection::vec(step, 0..60)
}

/// The writer that the client reads from.
enum Source {
    /// The one of the process that runs the turn.
    Ours,
    /// One elsewhere that follows the checkpoints.
    Follower(Box<Writer>),
}

struct Playback {
    attempts: usize,
    writer: Writer,
    source: Source,
    cursor: Cursor,
    client: Client,
    saved: Option<StreamPosition>,
    checkpoints: BTreeMap<StreamPosition, Checkpoint>,
    /// Hashes of the stored files.
    stored: BTreeSet<String>,
    written: String,
}

impl Playback {
    fn new() -> Self {
        let writer = Writer::new(true, None);
        writer.begin(&turn(1));
        Self {
            attempts: 1,
            writer,
            source: Source::Ours,
            cursor: Cursor::after(None),
            client: Client::default(),
            saved: None,
            checkpoints: BTreeMap::new(),
            stored: BTreeSet::new(),
            written: String::new(),
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Write(piece) => {
                self.writer.push_text(&turn(1).key, piece);
                self.written.push_str(piece);
            }
            Step::Say => self.writer.status(&turn(self.attempts), 1, Phase::Thinking),
            Step::Round => {
                self.writer.reset(ResetReason::Tools);
                self.written.clear();
            }
            Step::TakeOver { .. } if self.attempts == 3 => {}
            Step::TakeOver { ours } => {
                self.attempts += 1;
                self.saved = None;
                self.written.clear();
                self.writer = Writer::new(true, self.client.last.map(StreamPosition::from));
                self.writer.begin(&turn(self.attempts));
                match (&self.source, ours) {
                    (_, true) => {
                        self.source = Source::Ours;
                        self.cursor = self.client.cursor();
                    }
                    (Source::Ours, false) => self.follow(),
                    (Source::Follower(_), false) => {}
                }
            }
            Step::Save => {
                let now = Timestamp::from_millis(NOW);
                if let Some(checkpoint) = self.writer.checkpoint(&turn(1).key, self.saved, now) {
                    self.saved = Some(checkpoint.end);
                    self.checkpoints.insert(checkpoint.end, checkpoint);
                }
            }
            Step::Store => {
                if let Some((number, file)) = self.writer.next_unstored() {
                    let payload::Kind::File { address, .. } = file.payload.kind else { panic!("a file") };
                    self.stored.insert(address.to_string());
                    self.writer.mark_stored(number);
                }
            }
            Step::Read(events) => self.read(*events),
            Step::Cut => self.follow(),
        }
    }

    fn follow(&mut self) {
        self.source =
            Source::Follower(Box::new(Writer::new(true, self.client.last.map(StreamPosition::from))));
        self.cursor = self.client.cursor();
    }

    fn read(&mut self, events: usize) {
        let writer = match &self.source {
            Source::Ours => &self.writer,
            Source::Follower(writer) => {
                let after = writer.last_position();
                for (_, checkpoint) in self.checkpoints.iter().filter(|(end, _)| Some(**end) > after) {
                    writer.relay(checkpoint);
                }
                writer
            }
        };
        for _ in 0..events {
            let Some(event) = writer.next(&mut self.cursor) else { break };
            self.client.take(&event);
            for link in self.client.text.split("/files/").skip(1) {
                let hash = link.split('/').next().unwrap();
                assert!(self.stored.contains(hash), "a link to a file that is not there");
            }
        }
    }

    /// Ends the turn. The connection breaks once more after this many of the final events.
    fn end(mut self, response: &Response, cut: usize) -> Client {
        for event in conclude(self.cursor.position, 0, response).iter().take(cut) {
            self.client.take(event);
        }
        if self.client.results.is_empty() {
            for event in conclude(self.client.cursor().position, 0, response) {
                self.client.take(&event);
            }
        }
        self.client
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(700))]

    #[test]
    fn client_ends_with_the_answer(steps in steps(), cut in 0_usize..4) {
        let mut playback = Playback::new();
        steps.iter().for_each(|step| playback.step(step));
        let response = completed(&playback.written, playback.writer.segment());
        let expected = filter_text(&playback.written, |blob| embedded_link(&turn(1).key, blob)).text;
        let client = playback.end(&response, cut);
        prop_assert_eq!(client.text, expected);
        prop_assert_eq!(client.results, [response.body.get()]);
    }

    #[test]
    fn client_of_failed_turn_ends_without_text(steps in steps(), cut in 0_usize..4) {
        let mut playback = Playback::new();
        steps.iter().for_each(|step| playback.step(step));
        let response = Response::error(Error::from(ErrorCode::ModelUnavailable));
        let client = playback.end(&response, cut);
        prop_assert_eq!(client.text, "");
        prop_assert_eq!(client.results, [response.body.get()]);
    }

    #[test]
    fn answer_of_another_attempt_replaces_shown_text(steps in steps(), cut in 0_usize..4) {
        let mut playback = Playback::new();
        steps.iter().for_each(|step| playback.step(step));
        let client = playback.end(&completed("Quite another answer.", None), cut);
        prop_assert_eq!(client.text, "Quite another answer.");
    }

    #[test]
    fn client_may_send_any_last_event_id(
        steps in steps(),
        id in (0..=EventId::MAX.get()).prop_map(|id| EventId::new(id).unwrap()),
    ) {
        let mut playback = Playback::new();
        playback.client.last = Some(id);
        playback.follow();
        playback.client.last = None;
        steps.iter().for_each(|step| playback.step(step));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn reader_gets_all_text_before_tool_calls(
        rounds in prop::collection::vec((prop::collection::vec("[a-z ]{0,12}", 0..4), 0_usize..4), 1..8),
    ) {
        let (writer, mut cursor) = (Writer::new(true, None), Cursor::after(None));
        writer.begin(&turn(1));
        let (mut shown, mut expected) = (String::new(), String::new());
        let mut take = |event: Event| match event.kind {
            Kind::Delta(delta) => shown.push_str(&delta.text),
            Kind::Reset(Reset { reason }) => {
                assert_eq!(reason, Some(ResetReason::Tools));
                shown.push('|');
            }
            Kind::Status(_) | Kind::Reasoning(_) | Kind::Result(_) => {}
        };
        for (pieces, events) in &rounds {
            for piece in pieces {
                writer.push_text(&turn(1).key, piece);
            }
            std::iter::from_fn(|| writer.next(&mut cursor)).take(*events).for_each(&mut take);
            writer.reset(ResetReason::Tools);
            writer.status(&turn(1), 1, Phase::Tool);
            let text = pieces.concat();
            // A segment without text needs no reset.
            expected.push_str(&if text.is_empty() { text } else { format!("{text}|") });
        }
        writer.push_text(&turn(1).key, "answer\n\n");
        let answer = writer.segment();
        writer.before_answer(answer, &mut cursor).into_iter().for_each(&mut take);
        conclude(cursor.position, 0, &completed("answer\n\n", answer)).into_iter().for_each(&mut take);
        prop_assert_eq!(shown, expected + "answer\n\n");
    }
}

#[test]
fn delta_cost_is_independent_of_answer_length() {
    let writer = Writer::new(true, None);
    writer.begin(&turn(1));
    let mut cursor = Cursor::after(None);
    let mut client = Client::default();
    let paragraph = "Some words of an answer that goes on for very long, again and again.\n\n";
    for _ in 0..20_000 {
        writer.push_text(&turn(1).key, paragraph);
        while let Some(event) = writer.next(&mut cursor) {
            client.take(&Event { id: event.id, kind: Kind::Reset(Reset::default()) });
        }
    }
    assert_eq!(cursor.position.unwrap().offset, 20_000 * paragraph.len());
}

#[test]
fn silent_writer_keeps_nothing() {
    let writer = Writer::silent();
    writer.begin(&turn(1));
    writer.push_text(&turn(1).key, "Some words. ");
    assert_eq!(writer.checkpoint(&turn(1).key, None, Timestamp::from_millis(NOW)), None);
    assert_eq!(writer.segment(), None);
}

/// Returns the next events for a reader of this writer, abbreviated.
fn read(writer: &Writer, cursor: &mut Cursor) -> Vec<String> {
    let texts = |event: Event| match event.kind {
        Kind::Delta(delta) => delta.text,
        Kind::Reset(Reset { reason }) => format!("{reason:?}"),
        Kind::Status(Status { phase, attempt, round, .. }) => format!("{phase:?} {attempt} {round:?}"),
        Kind::Reasoning(Reasoning { round, index, text }) => format!("{round} {index} {text}"),
        Kind::Result(_) => "result".to_owned(),
    };
    std::iter::from_fn(|| writer.next(cursor)).map(texts).collect()
}

#[test]
fn statuses_arrive_in_place_and_once() {
    let (writer, mut cursor) = (Writer::new(true, None), Cursor::after(None));
    writer.status(&turn(1), 1, Phase::Retrieving);
    writer.begin(&turn(1));
    writer.status(&turn(1), 1, Phase::Thinking);
    writer.push_text(&turn(1).key, "Let me look");
    assert_eq!(read(&writer, &mut cursor), ["Retrieving 1 Some(1)", "Thinking 1 Some(1)", "Let me "]);
    writer.reset(ResetReason::Tools);
    writer.status(&turn(1), 1, Phase::Tool);
    assert_eq!(read(&writer, &mut cursor), ["look", "Some(Tools)", "Tool 1 Some(1)"]);
    writer.status(&turn(1), 2, Phase::Thinking);
    writer.push_text(&turn(1).key, "There.\n\n");
    assert_eq!(read(&writer, &mut cursor), ["Thinking 1 Some(2)", "There.\n\n"]);
    assert_eq!(read(&writer, &mut cursor), [""; 0]);
}

fn reasoning(round: u32, index: u64, text: &str) -> Reasoning {
    Reasoning { round, index, text: text.to_owned() }
}

#[test]
fn reasoning_arrives_in_place_once_and_before_the_answer() {
    let (writer, mut cursor) = (Writer::new(true, None), Cursor::after(None));
    writer.begin(&turn(1));
    writer.push_reasoning(reasoning(1, 0, "Let"));
    writer.push_reasoning(reasoning(1, 3, " me"));
    assert_eq!(read(&writer, &mut cursor), ["1 0 Let me"]);
    writer.push_reasoning(reasoning(1, 6, " see."));
    writer.push_text(&turn(1).key, "Look.\n\n");
    writer.push_reasoning(reasoning(1, 11, "Beside."));
    assert_eq!(read(&writer, &mut cursor), ["1 6  see.", "Look.\n\n", "1 11 Beside."]);
    writer.reset(ResetReason::Tools);
    writer.push_reasoning(reasoning(2, 0, "Now"));
    writer.push_reasoning(reasoning(2, 0, "Retried"));
    let ended = writer.before_answer(writer.segment(), &mut cursor);
    assert!(matches!(&ended[0].kind, Kind::Reset(_)), "{ended:?}");
    let texts: Vec<&str> = ended[1..]
        .iter()
        .filter_map(|event| match &event.kind {
            Kind::Reasoning(reasoning) => Some(reasoning.text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["Now", "Retried"]);
}

#[test]
fn slow_reader_gets_only_newest_reasoning() {
    let (writer, mut cursor) = (Writer::new(true, None), Cursor::after(None));
    writer.begin(&turn(1));
    for round in 1..=9 {
        writer.push_reasoning(reasoning(round, 0, &"a".repeat(128 << 10)));
    }
    let texts = read(&writer, &mut cursor);
    assert_eq!((texts.len(), texts.last().unwrap().starts_with("9 0 a")), (4, true));
}

#[test]
fn slow_reader_gets_only_newest_statuses() {
    let (writer, mut cursor) = (Writer::new(true, None), Cursor::after(None));
    writer.begin(&turn(1));
    for round in 1..=1_000 {
        writer.status(&turn(1), round, Phase::Thinking);
    }
    let texts = read(&writer, &mut cursor);
    assert!((65..=128).contains(&texts.len()), "{}", texts.len());
    assert_eq!(texts.last().unwrap(), "Thinking 1 Some(1000)");
}

#[test]
fn reset_reason_is_sent_on_every_connection() {
    let (writer, mut cursor) = (Writer::new(true, None), Cursor::after(None));
    writer.begin(&turn(1));
    writer.push_text(&turn(1).key, "First.\n\n");
    assert_eq!(read(&writer, &mut cursor), ["First.\n\n"]);
    let seen = cursor;
    writer.reset(ResetReason::Retry);
    writer.push_text(&turn(1).key, "Second.\n\n");
    assert_eq!(read(&writer, &mut cursor), ["Some(Retry)", "Second.\n\n"]);
    let checkpoint = writer.checkpoint(&turn(1).key, None, Timestamp::from_millis(NOW)).unwrap();
    let elsewhere = Writer::new(true, seen.position);
    elsewhere.relay(&checkpoint);
    assert_eq!(read(&elsewhere, &mut Cursor::after(seen.position)), ["Some(Retry)", "Second.\n\n"]);
    let taken = Writer::new(true, cursor.position);
    taken.begin(&turn(2));
    assert_eq!(read(&taken, &mut Cursor::after(cursor.position)), ["Some(TakenOver)"]);
    let failed = conclude(cursor.position, 0, &Response::error(ErrorCode::ModelUnavailable.into()));
    assert!(matches!(failed[0].kind, Kind::Reset(Reset { reason: Some(ResetReason::Failed) })), "{failed:?}");
    let other = conclude(cursor.position, 0, &completed("Another.", None));
    assert!(matches!(other[0].kind, Kind::Reset(Reset { reason: Some(ResetReason::Replaced) })), "{other:?}");
}
