//! The command from the outside: arguments and bytes in, bytes and exit status out.

#![expect(clippy::disallowed_methods, reason = "fixtures are made and looked at by path")]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic like tests")]

mod audit;
mod jsonl;
mod load;
mod mcp;
mod read;
mod sandbox;
mod schema;
mod snippets;
mod support;
mod terminal;
