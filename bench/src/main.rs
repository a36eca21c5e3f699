//! Side-by-side benchmarks: capread and what one would use instead, in turn, in one run. See README.md.

mod calls;
mod chart;
mod clock;
mod corpus;
mod files;
mod fixture;
mod jsonl;
mod machine;
mod mcp;
mod measure;
mod open;
mod options;
mod pipe;
mod process;
mod release;
mod stats;
mod table;
mod units;

use clap::{Parser, Subcommand};

/// Whatever fails ends the run.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Benchmarks of capread, side by side with what one would use instead.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Subcommand)]
enum Benchmark {
    /// Opens and reads a small file, at several depths and through a link.
    Open(open::Options),
    /// Reads and pages through small and very large files, beside what else reads them.
    Files(files::Options),
    /// Calls servers on their pipes for a small file, one call at a time and several.
    Calls(calls::Options),
}

fn main() -> Result<()> {
    match Arguments::parse().benchmark {
        Benchmark::Open(options) => open::run(&options),
        Benchmark::Files(options) => files::run(&options),
        Benchmark::Calls(options) => calls::run(&options),
    }
}
