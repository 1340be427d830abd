//! The registry: its file can be read, and the layers of caps are laid in order.

use crate::{CapsOverride, Endpoint, MaxTokensField, TextToolCalls, known_endpoints};

fn endpoint(base_url: &str) -> Endpoint {
    Endpoint { name: "mine".into(), base_url: base_url.into(), ..Endpoint::default() }
}

#[test]
fn every_endpoint_of_the_issue_is_known() {
    let names: Vec<&str> = known_endpoints().iter().map(|known| known.name.as_str()).collect();
    for name in [
        "openai",
        "anthropic",
        "gemini",
        "openrouter",
        "groq",
        "cerebras",
        "deepseek",
        "mistral",
        "together",
        "fireworks",
        "xai",
        "moonshot",
        "zai",
        "ollama",
        "lmstudio",
        "llamacpp",
        "vllm",
        "litellm",
    ] {
        assert!(names.contains(&name), "{name} is not among {names:?}");
    }
}

#[test]
fn caps_come_from_the_host_the_model_and_the_file_in_this_order() {
    let openai = endpoint("https://api.openai.com/v1");
    let known = openai.resolve("gpt-5-mini");
    assert_eq!(known.caps.max_tokens_field, MaxTokensField::MaxCompletionTokens);
    assert_eq!(known.caps.max_context, 400_000);
    assert!(known.fixed_temperature && known.caps.supports_images);

    let caps =
        CapsOverride { max_context: Some(1000), supports_images: Some(false), ..CapsOverride::default() };
    let known = Endpoint { caps, ..openai }.resolve("openai/gpt-5");
    assert_eq!(known.caps.max_context, 1000);
    assert!(!known.caps.supports_images);
}

#[test]
fn a_local_server_is_known_by_its_port_and_keeps_its_own_window() {
    let known = endpoint("http://localhost:1234/v1").resolve("unsloth/Qwen2.5-Coder-1.5B-Instruct-GGUF");
    assert!(!known.caps.null_content);
    assert_eq!(known.caps.max_context, 0);
    assert_eq!(known.caps.text_tool_calls, [TextToolCalls::JsonFence, TextToolCalls::Hermes]);
}

#[test]
fn what_is_not_known_has_the_defaults() {
    let known = endpoint("https://example.com/v1").resolve("some-model");
    assert_eq!(known.caps, crate::Caps::default());
    assert!(!known.fixed_temperature);
}
