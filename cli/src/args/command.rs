//! The subcommands. Written by hand, since a derived one makes the options of all of them at each start, and that is a tenth of what a
//! read of a small file costs.

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Error, FromArgMatches, Subcommand};

use super::{JsonlArgs, McpArgs, ReadArgs, SchemaArgs};

#[derive(Debug)]
pub(crate) enum Command {
    Read(ReadArgs),
    Jsonl(JsonlArgs),
    Mcp(McpArgs),
    Schema(SchemaArgs),
}

/// A name, what it is for, its options, and what becomes of them.
struct Row(&'static str, &'static str, fn(clap::Command) -> clap::Command, fn(&ArgMatches) -> Result<Command, Error>);

const ROWS: [Row; 4] = [
    Row("read", "Read lines of a file", ReadArgs::augment_args, |matches| {
        ReadArgs::from_arg_matches(matches).map(Command::Read)
    }),
    Row(
        "jsonl",
        "Answer tool calls on standard input, one JSON object a line, with results on standard output",
        JsonlArgs::augment_args,
        |matches| JsonlArgs::from_arg_matches(matches).map(Command::Jsonl),
    ),
    Row(
        "mcp",
        "Serve the tool to an agent or editor by the Model Context Protocol, on standard input and output",
        |command| McpArgs::augment_args(command).mut_arg("roots", |root| root.required(true).default_value(None)),
        |matches| McpArgs::from_arg_matches(matches).map(Command::Mcp),
    ),
    Row(
        "schema",
        "Print the tool definition, ready to send to a model provider",
        SchemaArgs::augment_args,
        |matches| SchemaArgs::from_arg_matches(matches).map(Command::Schema),
    ),
];

impl Subcommand for Command {
    fn augment_subcommands(command: clap::Command) -> clap::Command {
        let of = |Row(name, about, options, _)| clap::Command::new(name).about(about).defer(options);
        command.subcommand_required(true).subcommands(ROWS.map(of))
    }

    fn augment_subcommands_for_update(command: clap::Command) -> clap::Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        ROWS.iter().any(|row| row.0 == name)
    }
}

impl FromArgMatches for Command {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let (given, matches) = matches.subcommand().ok_or_else(|| Error::new(ErrorKind::MissingSubcommand))?;
        let row = ROWS.iter().find(|row| row.0 == given).ok_or_else(|| Error::new(ErrorKind::InvalidSubcommand))?;
        row.3(matches)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_says_what_it_is_for() {
        let mut command = Command::augment_subcommands(clap::Command::new("capread"));
        command.build();
        for Row(name, about, ..) in ROWS {
            let told = command.find_subcommand(name).and_then(clap::Command::get_about);
            assert_eq!(told.map(ToString::to_string).as_deref(), Some(about));
            assert!(Command::has_subcommand(name));
        }
    }
}
