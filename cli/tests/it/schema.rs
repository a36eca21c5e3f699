use rstest::rstest;
use serde_json::Value;

use crate::support::{capread, directory};

#[track_caller]
fn schema(arguments: &[&str]) -> Value {
    let output = capread(&directory(&[]), arguments).assert().success().stderr("");
    serde_json::from_slice(&output.get_output().stdout).unwrap()
}

#[test]
fn prints_the_mcp_definition_by_default() {
    assert_eq!(schema(&["schema"]), schema(&["schema", "--for", "mcp"]));
    assert_eq!(schema(&["schema"])["inputSchema"]["additionalProperties"], false);
}

#[rstest]
#[case("mcp", "/inputSchema")]
#[case("anthropic", "/input_schema")]
#[case("openai", "/function/parameters")]
#[case("openai-strict", "/function/parameters")]
#[case("openai-responses", "/parameters")]
#[case("gemini", "/parameters")]
fn prints_each_form_with_the_fields_that_work(#[case] api: &str, #[case] pointer: &str) {
    let definition = schema(&["schema", "--for", api]);
    let properties = definition.pointer(pointer).unwrap()["properties"].as_object().unwrap();
    assert_eq!(properties.keys().collect::<Vec<_>>(), ["path", "offset", "limit", "column", "tail"]);
}

#[test]
fn names_the_limits_in_force() {
    let described = |arguments: &[&str]| schema(arguments)["description"].as_str().unwrap().to_owned();
    assert!(described(&["schema"]).contains("at most 2000 lines and 50 KiB a call"));
    let described = described(&["schema", "--max-lines", "7", "--max-bytes", "1000"]);
    assert!(described.contains("at most 7 lines and 1000 bytes a call"), "{described}");
}

#[test]
fn refuses_an_api_that_it_does_not_know() {
    capread(&directory(&[]), &["schema", "--for", "nonsense"]).assert().code(2).stdout("");
}
