//! A mock model provider for the local cloud and for tests. It implements the Responses API over HTTP, follows a script, and
//! states in its answers that it is a mock. The crate `mock-wires` adds other APIs for tests.
//!
//! It is strict where clients break: it refuses what the published API refuses (whatever does not fit
//! the published schema of a request, a chained request that leaves a function call unanswered, a response id it never issued),
//! streams the same events in the same order with `sequence_number`s, and fails in every way a
//! provider can on request. What it issues can be checked without memory, so a restart of the local
//! cloud breaks no chain.
//!
//! It imitates the published API, or one of the [`Provider`]s that differ from it: in refused and ignored parameters,
//! error texts and layouts, and storage.
//!
//! Deliberately absent: any sampling, tokenizer or conversation history. Usage is a rough count of
//! words. `then` steps and `times` counters live in memory and do not survive a restart.
//!
//! # Routes
//!
//! - `POST /v1/responses`, plain JSON or `"stream": true`.
//! - `DELETE /v1/responses/{id}`: the response can't be continued any more. 404 if it is not stored.
//! - `GET /v1/responses/{id}`: status and usage of a stored response that was sent whole. 404 for any other, unless the
//!   script has it outlive its client.
//! - `GET /v1/models`: one, `scripted`.
//! - `POST /v1/embeddings`: vectors that are near each other where texts share words, the same each time.
//! - `GET /scripted/requests`: `{"count", "abandoned", "charges", "requests": [{"query", "headers", "body"}], "embeddings": {"requests",
//!   "texts"}}`, the last 10,000 requests for responses; `DELETE` forgets them. `abandoned` counts replies whose client
//!   left early, `charges` has what each ended reply costs, and `texts` counts what was embedded.
//!
//! Without a script it calls the tool that `tool_choice` forces, with no arguments. Otherwise it describes itself,
//! the input and the length of the chain.
//!
//! A request whose `input` or `messages` is a number probes the endpoint: it is refused as published, and not recorded.
//!
//! A key that starts with `invalid`, or none where the provider asks for one, is answered with 401, a model that starts with `missing-` with 404.
//!
//! # Scripts
//!
//! A directive is read from the newest user message only: from what follows `[INSTRUCTION]` in the
//! first of its parts that has that header, or from all its text when none has. Steps are separated by
//! `;` or line ends, strings and arguments are JSON, durations are `20ms`, `5s` or `2m`.
//!
//! ```text
//! [[script: say "Hello there."]]
//! [[script: pace 20ms; words 1000]]
//! [[script: say "Looking."; call read_file {"path":"a.rs"}; call list_files {}; then; say "Done."]]
//! [[script: status 429 code rate_limit_exceeded retry-after 1 times 2; say "At last."]]
//! [[script: say "Half an ans"; cut after 6 events]]
//! ```
//!
//! The steps after a `then` answer the request with the tool results, found by the chain. If a request starts a
//! chain and repeats the directive, the results in its `[TOOL_RESULTS]` part determine the position.
//!
//! Output steps, in order; adjacent texts share one message:
//!
//! | step | meaning |
//! |---|---|
//! | `say "text"` | text |
//! | `words 1000` | that many numbered words |
//! | `repeat "QUJD" 400` | the string that many times, without spaces |
//! | `echo` | a description of itself, the input and the length of the chain |
//! | `refuse "text"` | a refusal part |
//! | `phase commentary` | starts a message in this phase, on the Responses API |
//! | `think "summary"` | a reasoning item; with its encrypted content where `include` asks for it |
//! | `hosted web_search_call {json}` | what a tool of its own did, with these members; the request has to offer the tool |
//! | `cite {json}` | an annotation of the text before it |
//! | `call name {json}` | a function call; several make parallel calls. A name of other characters is a string: `call "a b" {}` |
//! | `pace 20ms` | a pause before each delta that follows |
//! | `chunk 7` | deltas of so many characters from here on, instead of words |
//! | `hang 5s` | a pause at this place in the stream, which [`Recorder::end_pauses`] ends earlier |
//! | `unknown event` | an event and an output item of types that no client knows |
//! | `malformed` | an event whose data is not JSON; no terminal event of the Responses API repeats it |
//! | `then` | ends this reply; the rest answers the request that brings the tool results |
//!
//! Options of the reply, anywhere in it:
//!
//! | step | meaning |
//! |---|---|
//! | `status 503 [code c] [type t] [param p] [message "m"] [header n "v"] [retry-after 1] [retry-after-ms 50] [x-should-retry false] [times 2] [chained] [over 500] [for big]` | an HTTP error; `times`: only so often for the same request, then the rest; `chained`: only with a `previous_response_id`; `over`: only when the request tells more words than that; `for`: only when this model is asked, or whoever plays this provider |
//! | `overflow`, with the options of `status` | the provider's error for an input that the model has no room for; nothing where it cuts the input in silence |
//! | `forget` | `status 400 code previous_response_not_found chained` |
//! | `delay 5s` | waits before the status line |
//! | `silent` | sends the headers and then nothing |
//! | `outlives [unfinished]` | a read of the response finds it after its client left early, ended with what was sent or unfinished |
//! | `drop [times 2]` | closes the connection without an answer |
//! | `cut after 5 events`, `cut after 100 bytes` | ends the body early, as if it were complete |
//! | `reset after 5 events`, `reset after 100 bytes` | breaks the connection there |
//! | `fail [code]` | ends with `response.failed` (`server_error`) |
//! | `error [code]` | ends with a bare `error` event |
//! | `incomplete [reason]` | ends with `response.incomplete` (`max_output_tokens`) |
//! | `unended` | leaves out the terminal event |
//! | `usage 100 20 [cached 5] [written 3] [reasoning 7]` | usage as stated |
//! | `no usage` | a null `usage` |
//! | `quirk odd-usage`, `no-id`, `null-content`, `object-arguments`, `no-call-id`, `same-call-id`, `signed-call-id`, `no-type`, `no-blank-line`, `json`, `nothing` | a detail in which the response differs from the published one; `nothing` says nothing |
//! | `id 7` | the reply's ids hold this number, so its first call is `call_000000000000000700` |
//! | `finally "text"` | ends with another text than was streamed |
//! | `as "gpt-5-2026"` | the model's own name |
//!
//! A request for the embedding of one text alone is scripted by that text's beginning, with `status`, `delay` and
//! `drop` of the steps above: `[[embed: status 429 retry-after 1 times 2]]`.
//!
//! A summary request, with earlier turns in `[EARLIER_TURNS]`, is scripted by the first directive in there that begins
//! with `[[summed:`: `[[summed: usage 40 4; say "They greeted."]]`. A request for a title is scripted by `[[titled:`
//! in the same way. Without one, the title has the first words that the user wrote.
//!
//! A directive that cannot be read is answered with 400 and the code `invalid_script`.

mod answer;
mod bill;
mod embedding;
mod memory;
mod play;
mod recorder;
mod script;
mod serve;
mod validate;

// What `mock-wires` builds on.
#[doc(hidden)]
pub mod deviations;
#[doc(hidden)]
pub mod earlier_calls;
#[doc(hidden)]
pub mod echo;
#[doc(hidden)]
pub mod id;
#[doc(hidden)]
pub mod plan;
#[doc(hidden)]
pub mod provider;
#[doc(hidden)]
pub mod refusal;
#[doc(hidden)]
pub mod reply;
#[doc(hidden)]
pub mod request;
#[doc(hidden)]
pub mod schema;
#[doc(hidden)]
pub mod wire;

pub use bill::Charge;
pub use provider::{Provider, UnknownProvider};
pub use recorder::{Embeddings, Moment, Recorder};
pub use serve::{WIRES, router, serve};
pub use wire::Wire;
