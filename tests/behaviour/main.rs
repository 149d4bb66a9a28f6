//! Behaviour of the whole system: over HTTP, against the local cloud on free ports, with the real functions in
//! separate processes. Modules follow the routes and features; each test name is subject, situation and result.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    unreachable_pub,
    reason = "a test that can't go on has failed, and this is no library"
)]

mod admin;
mod ag_ui;
mod agent_limits;
mod agents;
mod anthropic;
mod bad_input;
mod bedrock;
mod budget_chaos;
mod budget_limits;
mod budget_money;
mod budget_use;
mod budgets;
mod cancel;
mod capacity;
mod chain;
mod chaos;
mod chat;
mod client_tools;
mod command_line;
mod concurrency;
mod connection_addresses;
mod connection_refresh;
mod connection_results;
mod connections;
mod console;
mod contexts;
mod cost;
mod crash;
mod data_format;
mod dead_letters;
mod departures;
mod deployment_stores;
mod doctor;
mod effect_chaos;
mod effect_copies;
mod effects;
mod ended_usage;
mod execute;
mod export;
mod fair_queues;
mod fallbacks;
mod feedback;
mod files;
mod finalize;
mod fork;
mod fork_depth;
mod gc;
mod guides;
mod history;
mod history_snapshot;
mod history_summary;
mod hosted_tools;
mod http_caching;
mod import;
mod import_members;
mod index_documents;
mod index_limits;
mod index_secrets;
mod indexing;
mod interrupted_usage;
mod key_rotation;
mod knowledge;
mod local_access;
mod logs;
mod mcp;
mod mcp_servers;
mod misbehaving_servers;
mod modes;
mod named_providers;
mod not_found;
mod oidc;
mod openai;
mod org_modes;
mod org_settings;
mod page_tokens;
mod partial_answers;
mod payloads;
mod pending_usage;
mod policies;
mod preconditions;
mod private_sessions;
mod provider_errors;
mod provider_start;
mod provider_table;
mod providers;
mod purge;
mod purge_usage;
mod quarantine;
mod rag_results;
mod random_chats;
mod replayed_calls;
mod rerun;
mod restart;
mod retention;
mod retrieval;
mod retrieval_key;
mod roles;
mod sample_events;
mod scale;
mod search;
mod server_tools;
mod session_edits;
mod session_index;
mod sessions;
mod shapes;
mod shop;
mod sign_in;
mod smoke_suite;
mod solution_context;
mod squats;
mod stack_sources;
mod steps;
mod stream_clients;
mod stream_reattach;
mod streaming;
mod support;
mod tenancy;
mod titles;
mod tool_results;
mod traces;
mod turn_records;
mod usage;
mod verify;
mod wire_settings;
mod wires;
