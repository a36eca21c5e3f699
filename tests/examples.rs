//! The examples do what they say: each is built into this test, so that no run can meet an old one.

#[expect(dead_code, reason = "its main")]
#[path = "../examples/agent.rs"]
mod agent;

#[expect(dead_code, reason = "its main")]
#[path = "../examples/async.rs"]
mod on_tokio;

#[expect(dead_code, reason = "its main")]
#[path = "../examples/embed.rs"]
mod embed;

use serde_json::{Value, json};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn embed_prints_text_or_the_error() {
    let prints = |call: &str| {
        let mut out = Vec::new();
        embed::run(ROOT, call, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert!(prints(r#"{"path": "README.md", "limit": "1"}"#).starts_with("# capread\n\n["));
    assert_eq!(prints(r#"{"path": "../x"}"#), "Path is outside the allowed root: ../x (outside_root)\n");
}

#[test]
fn the_model_corrects_itself_and_comes_to_an_answer() {
    let mut out = Vec::new();
    agent::run(ROOT, &mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    let messages: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said = |message: usize| messages[message]["content"][0].clone();
    let refusal = "File does not exist: Crago.toml. Did you mean Cargo.toml?";
    assert_eq!(messages.len(), 6);
    assert_eq!(said(1)["input"]["path"], "Crago.toml");
    assert_eq!(said(2), json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": refusal, "is_error": true}));
    assert_eq!(said(3)["input"]["path"], "Cargo.toml");
    assert_eq!((&said(4)["tool_use_id"], &said(4)["is_error"]), (&json!("toolu_2"), &json!(false)));
    assert_eq!(said(5), json!({"type": "text", "text": "name = \"capread\""}));
}

#[test]
fn a_token_and_a_dropped_future_stop_a_read() {
    let mut out = Vec::new();
    // Ends only when the thread that reads has: where nothing stopped the read, that takes minutes.
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
        .block_on(on_tokio::run(&mut out))
        .unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "Operation aborted\nGiven up\nFile does not exist: lagre. Did you mean large?\n"
    );
}
