//! The one test executable: it starts the built programs, feeds them records and looks at what comes out.
#![allow(clippy::unwrap_used, clippy::print_stderr, missing_docs)] // a skipped test says so

mod cases; // the folders of tests/cases
mod cli; // nub: print mode, the prompt, dispatch, the pages
mod cli_demo; // nub demo
mod cli_fake; // a nub-loop that says what the test wants
mod cli_signals; // nub: how it ends
mod cli_talk; // nub: the line session
mod cli_whole; // nub, with every real program behind it
mod conf; // the configuration as every program reads it
mod context; // the system prompt of nub-ctx
mod ctx; // nub-ctx
mod examples; // the scripts of examples/
mod http; // a server that replays bytes: whole, torn, late or dead
mod layering; // who may depend on whom
mod live; // nub-tool as a coprocess
mod r#loop; // nub-loop: turns, steering, limits
mod loop_faults; // nub-loop: cancels, stages that die, signals
mod loop_stage; // nub-loop with stages of a test's own choosing
mod loop_start; // nub-loop: what cannot begin, and what cannot be asked
mod scratch; // a fresh folder with a home of its own, and how programs are run in it
mod session; // nub-session: the tree
mod session_care; // nub-session: repair, export, search and the like
mod session_durable; // nub-session and accidents
mod session_foreign; // nub-session and what is no session, leads elsewhere or has no room
mod session_replay; // nub-session request: a session asked again
mod stream; // nub-stream: the filter
mod stream_cassette; // its cassettes, dry run, list of models
mod stream_choice; // where it asks when nobody says so
mod stream_errors; // what it makes of errors, and when it tries again
mod stream_format; // its answers of a given form
mod stream_golden; // it and the oddities of real servers
mod stream_network; // its connections: kept, timed, redirected, proxied
mod stream_secrets; // where its keys do not appear
mod tidy; // properties of the source tree
mod tool; // nub-tool
mod tool_bash; // its tool bash
mod tool_files; // its file tools: turns, accidents, limits
mod tool_permission; // what it may run
mod tool_trees; // what it started is ended
