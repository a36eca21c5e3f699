//! Reads in a program on tokio: a thread that may block reads, and a token stops it; so does dropping the future.
//!
//! ```sh
//! cargo run --example async
//! ```

use std::error::Error;
use std::io::{self, Write};
use std::time::Duration;

use capread::{ReadOutput, ReadRequest, ReadTool, Root};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// Cloning a tool is cheap, and the clones share what they remember of files.
async fn read(tool: &ReadTool, request: ReadRequest, token: &CancellationToken) -> capread::Result<ReadOutput> {
    let (tool, token) = (tool.clone(), token.child_token());
    // A future that is dropped, as by a timeout, cannot stop a thread that blocks; the guard tells the read to end.
    let _guard = token.clone().drop_guard();
    let reading = spawn_blocking(move || tool.call(&request, &|| token.is_cancelled()));
    reading.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    run(&mut io::stdout()).await
}

pub(crate) async fn run(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let mut file = tempfile::Builder::new().prefix("large").rand_bytes(0).tempfile_in(&directory)?;
    file.write_all(&b"line\n".repeat(2000))?;
    // A hole of a TiB behind the text: to count the lines there takes minutes.
    file.as_file().set_len(1 << 40)?;
    let tool = ReadTool::new(Root::open_ambient(directory.path())?);
    let large = || ReadRequest::new("large").limit(1);

    let token = CancellationToken::new();
    let stop = async {
        sleep(Duration::from_millis(50)).await;
        token.cancel();
    };
    let (stopped, ()) = tokio::join!(read(&tool, large(), &token), stop);
    writeln!(out, "{}", stopped.map_or_else(|error| error.to_string(), |output| output.to_model_text()))?;

    let late = timeout(Duration::from_millis(50), read(&tool, large(), &CancellationToken::new())).await;
    writeln!(out, "{}", if late.is_err() { "Given up" } else { "Read" })?;

    let missing = read(&tool, ReadRequest::new("lagre"), &CancellationToken::new()).await;
    writeln!(out, "{}", missing.map_or_else(|error| error.to_string(), |output| output.to_model_text()))?;
    Ok(())
}
