//! One tool over one root, called as an agent's loop would: arguments from a model in, text for the model out.
//!
//! ```sh
//! cargo run --example embed -- . '{"path": "README.md", "limit": "3"}'
//! ```

use std::error::Error;
use std::io::{self, Write};

use capread::{Limits, ReadTool, Root};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().unwrap_or_else(|| ".".to_owned());
    let call = arguments.next().unwrap_or_else(|| r#"{"path": "README.md", "limit": 3}"#.to_owned());
    run(&directory, &call, &mut io::stdout())
}

pub(crate) fn run(directory: &str, call: &str, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let root = Root::open_ambient(directory)?;
    let tool = ReadTool::new(root).with_limits(Limits::default().max_lines(500)?);

    // A real agent passes its own flag, such as `&|| token.is_cancelled()`.
    let never = || false;
    let text = match tool.call_json(&serde_json::from_str(call)?, &never) {
        Ok(output) => output.to_model_text(),
        Err(error) => format!("{} ({})", error, error.code()),
    };
    writeln!(out, "{text}")?;
    Ok(())
}
