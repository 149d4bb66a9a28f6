//! Tests of the local cloud with functions that misbehave on request: the effects on clients, queues and the machine.
//!
//! The local cloud starts its functions as `<executable> function <name>`. This executable is both: started that way
//! it is the misbehaving function, otherwise it runs the tests. It has no test harness, since a harness would take
//! those arguments for test names.

// A test may panic, and prints its result to the terminal.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout)]

mod data_folder;
mod event_source;
mod function;
mod gateway;
mod processes;
mod slow_clients;
mod support;

use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Tests that run at the same time.
const CONCURRENT_TESTS: usize = 4;

type Test = (&'static str, fn() -> Pin<Box<dyn Future<Output = ()>>>);

macro_rules! tests {
    ($($module:ident::$name:ident,)*) => { [$((stringify!($name), || Box::pin($module::$name()))),*] };
}

static TESTS: [Test; 28] = tests![
    gateway::request_reaches_function_and_reply_reaches_client,
    gateway::function_environment_hides_developer_variables,
    gateway::gateway_refusals_have_envelope,
    gateway::cors_preflight_is_answered,
    gateway::stream_arrives_in_chunks,
    processes::crashed_process_fails_invocation_and_is_replaced,
    processes::panicking_function_fails_invocation,
    processes::process_crash_while_streaming_breaks_body,
    processes::processes_are_reused_and_cap_throttles_clients,
    processes::request_waits_for_a_process_that_becomes_free,
    processes::function_is_killed_after_timeout,
    processes::shared_process_serves_concurrent_requests,
    processes::timeout_in_a_shared_process_ends_one_request,
    processes::crash_of_a_shared_process_fails_its_requests,
    processes::invocation_continues_without_client,
    processes::stream_is_drained_after_client_disconnects,
    processes::shutdown_stops_every_process,
    slow_clients::half_sent_bodies_delay_nobody,
    slow_clients::unread_responses_delay_nobody,
    slow_clients::paused_reader_gets_its_whole_response_if_nobody_waits,
    event_source::failed_message_is_retried_and_becomes_dead_letter,
    event_source::paused_event_source_delivers_nothing,
    data_folder::data_folder_keeps_items_objects_and_tokens,
    data_folder::data_folder_of_other_format_is_refused,
    data_folder::empty_data_folder_starts,
    data_folder::ttl_is_enabled_after_interrupted_provisioning,
    data_folder::object_keys_have_s3_length_limit,
    data_folder::exactly_one_conditional_writer_wins,
];

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "function") {
        function::serve();
        return ExitCode::SUCCESS;
    }
    let filter = arguments.iter().find(|word| !word.starts_with('-'));
    let chosen = TESTS.iter().filter(|(name, _)| filter.is_none_or(|filter| name.contains(filter.as_str())));
    if arguments.iter().any(|word| word == "--list") {
        chosen.for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let (queue, failed) = (Mutex::new(chosen), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..CONCURRENT_TESTS {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap().next();
                    let Some((name, test)) = next else { return };
                    let runtime = tokio::runtime::Runtime::new().unwrap();
                    let passed = std::panic::catch_unwind(|| runtime.block_on(test())).is_ok();
                    println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
                    failed.fetch_add(usize::from(!passed), Ordering::Relaxed);
                }
            });
        }
    });
    ExitCode::from(u8::from(failed.into_inner() > 0))
}
