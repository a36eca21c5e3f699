//! Calls as events of the crate `tracing`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use capread::{ReadOutput, ReadRequest, Result};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::support::Tree;

/// The fields of an event, as text.
type Fields = BTreeMap<String, String>;

/// Keeps all events of the library.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<Fields>>>);

impl Subscriber for Kept {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "capread"
    }

    fn event(&self, event: &Event<'_>) {
        assert_eq!(*event.metadata().level(), Level::INFO);
        let mut seen = Seen(Fields::new());
        event.record(&mut seen);
        self.0.lock().unwrap().push(seen.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        unreachable!("the library makes no spans")
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Seen(Fields);

impl Visit for Seen {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

/// The event of one call, of which there must be no other. How long it took is no fact to compare.
#[track_caller]
fn event(call: impl FnOnce() -> Result<ReadOutput>) -> Fields {
    let kept = Kept::default();
    let result = tracing::subscriber::with_default(kept.clone(), call);
    let mut events = std::mem::take(&mut *kept.0.lock().unwrap());
    assert_eq!(events.len(), 1, "{events:?}");
    let mut fields = events.remove(0);
    assert!(fields.remove("duration_us").unwrap().parse::<u64>().unwrap() < 60_000_000);
    let content = result.map_or_else(|_| "CONTENT".to_owned(), |output| output.window.text);
    assert!(fields.values().all(|value| !value.contains(&content)), "{fields:?}");
    fields
}

fn fields<const N: usize>(fields: [(&str, &str); N]) -> Fields {
    fields.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

fn tree() -> Tree {
    Tree::new(&["a.txt = CONTENT one\nCONTENT two\n", "d/", "d/link -> ../a.txt"])
}

#[test]
fn a_read_is_one_event_without_content() {
    let tree = tree();
    let tool = tree.tool();
    let told = [("input", "\"./d//link\""), ("resolved", "\"a.txt\""), ("outcome", "\"ok\"")];
    let lines = [("start_line", "2"), ("end_line", "2"), ("bytes", "11")];
    let expected: Fields = fields(told).into_iter().chain(fields(lines)).collect();
    let request = ReadRequest::new("./d//link").offset(2);
    assert_eq!(event(|| tool.call(&request, &|| false)), expected);
    assert_eq!(event(|| tool.call_with_progress(&request, &|| false, &|_| {})), expected);
}

#[test]
fn a_failed_read_is_one_event() {
    let tree = tree();
    let tool = tree.tool();
    let failed = |input: &str, outcome: &str| fields([("input", input), ("outcome", outcome)]);
    assert_eq!(event(|| tool.call(&ReadRequest::new("../x"), &|| false)), failed("\"../x\"", "\"outside_root\""));
    assert_eq!(event(|| tool.call(&ReadRequest::new("nope"), &|| false)), failed("\"nope\"", "\"not_found\""));
    assert_eq!(event(|| tool.call(&ReadRequest::new("a.txt"), &|| true)), failed("\"a.txt\"", "\"cancelled\""));
    // What a model writes makes no line of a log, and fills none.
    assert_eq!(
        event(|| tool.call(&ReadRequest::new("a\nb\u{1b}"), &|| false)),
        failed(r#""a\nb\u{1b}""#, "\"not_found\"")
    );
    let long = event(|| tool.call(&ReadRequest::new("x".repeat(1 << 20)), &|| false));
    assert!(long["input"].len() < 300);
}

#[cfg(feature = "json")]
#[test]
fn a_call_with_wrong_arguments_is_one_event() {
    let tree = tree();
    let tool = tree.tool();
    let call = |arguments: serde_json::Value| event(|| tool.call_json(&arguments, &|| false));
    let invalid = ("outcome", "\"invalid_argument\"");
    assert_eq!(call(serde_json::json!({"path": "a.txt", "limit": -1})), fields([("input", "\"a.txt\""), invalid]));
    assert_eq!(call(serde_json::json!({})), fields([invalid]));
    assert_eq!(call(serde_json::json!({"path": "a.txt"}))["outcome"], "\"ok\"");
}
