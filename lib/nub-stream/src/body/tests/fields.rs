//! Rules about the fields beside the messages: what is sent only where it is known to be taken.

use super::*;

fn ask(more: Value) -> Value {
    let mut asked = json!({"messages": [user("hi")]});
    asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    asked
}

fn with_tool(schema: Value) -> Value {
    ask(json!({"tools": [{"name": "t", "schema": schema}]}))
}

fn parameters(schema: Value, target: &Target) -> Value {
    body(&with_tool(schema), target)["tools"][0]["function"]["parameters"].clone()
}

#[test]
fn r01_r52_the_name_of_the_token_limit() {
    let asked = ask(json!({"max_tokens": 100}));
    let openai = body(&asked, &target("https://api.openai.com/v1", "gpt-5", json!({})));
    assert_eq!((&openai["max_completion_tokens"], &openai["max_tokens"]), (&json!(100), &Value::Null));
    let other = body(&asked, &plain(json!({})));
    assert_eq!((&other["max_tokens"], &other["max_completion_tokens"]), (&json!(100), &Value::Null));
    let set = body(&asked, &plain(json!({"max_tokens_field": "max_completion_tokens"})));
    assert_eq!(set["max_completion_tokens"], 100);
}

#[test]
fn r02_r36_temperature_only_when_asked_for_and_taken() {
    let asked = ask(json!({"temperature": 0.5}));
    assert_eq!(body(&asked, &plain(json!({})))["temperature"], 0.5);
    assert!(body(&ask(json!({})), &plain(json!({}))).get("temperature").is_none());
    for model in ["gpt-5-mini", "o3", "o4-mini", "kimi-k2.6"] {
        let body = body(&asked, &target("https://example.com/v1", model, json!({})));
        assert!(body.get("temperature").is_none(), "{model}");
    }
}

#[test]
fn r03_r31_parallel_calls_are_named_only_when_they_are_off() {
    let asked = ask(json!({"tools": [tool("read")]}));
    assert!(body(&asked, &plain(json!({}))).get("parallel_tool_calls").is_none());
    let off = plain(json!({"parallel_tool_calls": false}));
    assert_eq!(body(&asked, &off)["parallel_tool_calls"], false);
    assert!(body(&ask(json!({})), &off).get("parallel_tool_calls").is_none());
}

#[test]
fn r06_no_tools_no_keys_about_tools() {
    let body = body(&ask(json!({"tools": [], "tool_choice": "required"})), &plain(json!({})));
    for key in ["tools", "tool_choice", "parallel_tool_calls"] {
        assert!(body.get(key).is_none(), "{key}");
    }
}

#[test]
fn r07_a_history_with_calls_brings_its_tools() {
    let body = body(&json!({"messages": turn("c1")}), &plain(json!({})));
    assert_eq!(body["tools"][0]["function"]["name"], "read");
    assert_eq!(body["tool_choice"], "none");
}

#[test]
fn r08_r09_usage_is_asked_for_only_in_a_stream_and_where_it_is_taken() {
    let asked = ask(json!({"tools": [tool("read")]}));
    assert_eq!(body(&asked, &plain(json!({})))["stream_options"]["include_usage"], true);
    for caps in [json!({"usage_in_stream": false}), json!({"stream_with_tools": false})] {
        assert!(body(&asked, &plain(caps)).get("stream_options").is_none());
    }
    let mistral = target("https://api.mistral.ai/v1", "devstral-small", json!({}));
    assert!(body(&asked, &mistral).get("stream_options").is_none());
}

#[test]
fn r30_r31_r33_r38_r39_r47_nothing_that_was_not_asked_for() {
    for url in [
        "https://api.groq.com/openai/v1",
        "https://api.cerebras.ai/v1",
        "https://api.fireworks.ai/inference/v1",
    ] {
        let body = body(&ask(json!({"tools": [tool("read")]})), &target(url, "m-1", json!({})));
        let known = ["model", "stream", "stream_options", "tools", "messages"];
        for key in body.as_object().unwrap().keys() {
            assert!(known.contains(&key.as_str()), "{key}");
        }
    }
}

#[test]
fn r32_r34_r35_what_a_provider_alone_knows_comes_from_extra_body() {
    let mut target = plain(json!({}));
    let extra = json!({"reasoning_effort": "low", "enable_thinking": true, "thinking": {"type": "enabled"}});
    target.endpoint.extra_body = serde_json::from_value(extra).unwrap();
    let sent = body(&ask(json!({"temperature": 1.0})), &target);
    assert_eq!(sent["reasoning_effort"], "low");
    assert_eq!(sent["thinking"], json!({"type": "enabled"}));
    assert_eq!(sent["enable_thinking"], true);
    assert!(body(&ask(json!({})), &plain(json!({}))).get("reasoning_effort").is_none());
    target.endpoint.extra_body = serde_json::from_value(json!({"temperature": 0.1})).unwrap();
    assert_eq!(body(&ask(json!({"temperature": 1.0})), &target)["temperature"], 0.1);
}

#[test]
fn r37_strict_only_with_the_cap() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}, "c": {"enum": ["x"], "type": "string"}}, "required": ["a"]});
    let loose = body(&with_tool(schema.clone()), &plain(json!({})));
    assert!(loose["tools"][0]["function"].get("strict").is_none());
    assert_eq!(loose["tools"][0]["function"]["parameters"], schema);
    let strict = body(&with_tool(schema), &plain(json!({"strict_schemas": true})));
    let function = &strict["tools"][0]["function"];
    assert_eq!(function["strict"], true);
    assert_eq!(function["parameters"]["required"], json!(["a", "b", "c"]));
    assert_eq!(function["parameters"]["additionalProperties"], false);
    assert_eq!(function["parameters"]["properties"]["b"]["type"], json!(["integer", "null"]));
    assert_eq!(function["parameters"]["properties"]["c"]["enum"], json!(["x", null]));
}

#[test]
fn r40_geminis_subset() {
    let schema = json!({"$schema": "x", "type": "object", "additionalProperties": false, "properties": {
        "a": {"const": "x"}, "b": {"type": ["string", "null"]}, "c": {"items": {"$ref": "y", "type": "string"}, "type": "array"},
        "additionalProperties": {"type": "string"}}});
    let gemini =
        target("https://generativelanguage.googleapis.com/v1beta/openai", "gemini-2.5-flash", json!({}));
    assert_eq!(
        parameters(schema, &gemini),
        json!({"type": "object", "properties": {
            "a": {"enum": ["x"], "type": "string"}, "b": {"type": "string", "nullable": true},
            "c": {"items": {"type": "string"}, "type": "array"}, "additionalProperties": {"type": "string"}}})
    );
}

#[test]
fn r41_no_combinators_at_the_top() {
    let branch = |name: &str| json!({"properties": {(name): {"type": "string"}}, "required": [name]});
    let schema = json!({"anyOf": [branch("a"), branch("b")], "allOf": [branch("c")], "not": {}, "enum": [1]});
    let sent = parameters(schema, &plain(json!({})));
    assert_eq!(sent["type"], "object");
    assert_eq!(sent["required"], json!(["c"]));
    for name in ["a", "b", "c"] {
        assert_eq!(sent["properties"][name]["type"], "string");
    }
    for key in ["anyOf", "oneOf", "allOf", "enum", "not"] {
        assert!(sent.get(key).is_none(), "{key}");
    }
    for schema in [json!({}), json!({"type": "object"}), json!(null), json!(true)] {
        assert_eq!(parameters(schema, &plain(json!({}))), json!({"type": "object", "properties": {}}));
    }
}

#[test]
fn r42_r43_tools_are_left_out_for_models_without() {
    let body =
        body(&json!({"messages": turn("c1"), "tools": [tool("read")]}), &plain(json!({"tool_calls": false})));
    assert!(body.get("tools").is_none());
    let sent = body["messages"].as_array().unwrap();
    assert!(sent.iter().all(|message| message.get("tool_calls").is_none() && message["role"] != "tool"));
    assert!(sent[1]["content"].as_str().unwrap().contains("called read"));
    assert!(sent[2]["content"].as_str().unwrap().ends_with('r'));
}

#[test]
fn r44_without_stream_beside_tools() {
    let caps = plain(json!({"stream_with_tools": false}));
    assert_eq!(body(&ask(json!({"tools": [tool("read")]})), &caps)["stream"], false);
    assert_eq!(body(&ask(json!({})), &caps)["stream"], true);
}

#[test]
fn r46_the_token_limit_is_left_out_or_within_the_models() {
    assert!(body(&ask(json!({})), &plain(json!({}))).get("max_tokens").is_none());
    let small = plain(json!({"max_output": 8192}));
    assert_eq!(body(&ask(json!({"max_tokens": 20000})), &small)["max_tokens"], 8192);
}

#[test]
fn r49_names_are_made_plain_and_found_again() {
    let long = "x".repeat(80);
    let tools = json!([tool("mcp.github/list"), tool("mcp_github_list"), tool(&long), tool("read")]);
    let asked = ask(json!({"tools": tools, "tool_choice": {"name": "mcp.github/list"}}));
    let built = build(&request(&asked), &plain(json!({}))).unwrap();
    let sent: Value = serde_json::from_slice(&built.bytes).unwrap();
    let names: Vec<&str> = (0..4).map(|at| sent["tools"][at]["function"]["name"].as_str().unwrap()).collect();
    let plain = |name: &&str| {
        name.len() <= 64 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
    };
    assert!(names.iter().all(plain), "{names:?}");
    assert_ne!(names[0], names[1]);
    assert_eq!(built.names.own(names[0]), Some("mcp.github/list"));
    assert_eq!(built.names.own("read"), None);
    assert_eq!(sent["tool_choice"], json!({"type": "function", "function": {"name": names[0]}}));
}

#[test]
fn r50_a_query_is_kept_and_the_key_may_travel_in_a_header_of_its_own() {
    let azure = target("https://x.openai.azure.com/openai/deployments/d?api-version=2024", "m-1", json!({}));
    assert_eq!(
        azure.url("chat/completions"),
        "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024"
    );
    assert_eq!(plain(json!({})).url("models"), "https://example.com/v1/models");
}

#[test]
fn r51_the_stream_is_asked_for_by_header_too() {
    let accept = |asked: &Value, target: &Target| {
        headers(asked, target).into_iter().find(|(name, _)| name == "accept").unwrap().1
    };
    assert_eq!(accept(&ask(json!({})), &plain(json!({}))), "text/event-stream");
    let whole = plain(json!({"stream_with_tools": false}));
    assert_eq!(accept(&ask(json!({"tools": [tool("read")]})), &whole), "application/json");
}

#[test]
fn tool_choice_in_its_forms() {
    let sent = |choice: Value| {
        let asked = ask(json!({"tools": [tool("read")], "tool_choice": choice}));
        body(&asked, &plain(json!({}))).get("tool_choice").cloned()
    };
    assert_eq!(sent(json!("auto")), None);
    assert_eq!(sent(json!("none")), Some(json!("none")));
    assert_eq!(sent(json!("required")), Some(json!("required")));
}

#[test]
fn a_form_is_asked_for_where_the_server_can() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let asked = ask(json!({"format": {"name": "f", "schema": schema}}));
    assert!(body(&asked, &plain(json!({}))).get("response_format").is_none());
    let sent = body(&asked, &plain(json!({"json_schema": true})));
    assert_eq!(
        sent["response_format"],
        json!({"type": "json_schema", "json_schema": {"name": "f", "schema": schema}})
    );
    let strict = body(&asked, &plain(json!({"json_schema": true, "strict_schemas": true})));
    assert_eq!(strict["response_format"]["json_schema"]["schema"]["required"], json!(["a"]));
}
