//! Equal requests give equal bytes, and a turn's body begins with the one before it.

use super::*;

#[test]
fn every_turn_begins_with_the_bytes_of_the_one_before() {
    let cases = [
        json!({}),
        json!({"tool_id_format": "mistral9", "bridge_after_tool": true}),
        json!({"system_role": "", "reasoning_replay": "required", "supports_images": true}),
        json!({"schema_subset": "gemini", "strict_schemas": true, "tool_calls": true}),
    ];
    for caps in cases {
        let target = plain(caps);
        let mut conversation = vec![user("do it")];
        let mut before: Option<String> = None;
        for turn in 0..20 {
            let asked = json!({"system": [text("be good")], "tools": [tool("read"), tool("mcp.x")],
                "max_tokens": 100, "temperature": 0.5, "messages": conversation});
            let sent = String::from_utf8(build(&request(&asked), &target).unwrap().bytes).unwrap();
            assert_eq!(sent, String::from_utf8(build(&request(&asked), &target).unwrap().bytes).unwrap());
            if let Some(before) = before {
                let stable = before.strip_suffix("]}").unwrap();
                assert!(sent.starts_with(stable), "turn {turn}:\n{stable}\n{sent}");
            }
            before = Some(sent);
            let (one, two) = (format!("call_{turn}_a"), format!("call_{turn}_b"));
            conversation.push(assistant(&[
                json!({"kind": "thinking", "text": "hm"}),
                text("I look"),
                call(&one),
                call(&two),
            ]));
            let mut answers = vec![result(&one, "1"), result(&two, "2")];
            if turn % 3 == 0 {
                answers.push(text("a steer"));
            }
            if turn % 4 == 0 {
                answers[0]["result"] = json!([{"kind": "image", "media_type": "image/png", "data": "AA"}]);
            }
            conversation.push(json!({"role": "user", "content": answers}));
        }
    }
}

#[test]
fn the_keys_of_a_body_are_in_one_order() {
    let asked = json!({"system": [text("s")], "messages": [user("q")], "tools": [tool("read")], "max_tokens": 5, "temperature": 1.0});
    let sent = String::from_utf8(build(&request(&asked), &plain(json!({}))).unwrap().bytes).unwrap();
    assert_eq!(
        sent,
        r#"{"model":"m-1","stream":true,"stream_options":{"include_usage":true},"max_tokens":5,"temperature":1.0,"tools":[{"type":"function","function":{"name":"read","description":"d","parameters":{"properties":{"path":{"type":"string"}},"type":"object"}}}],"messages":[{"role":"system","content":"s"},{"role":"user","content":"q"}]}"#
    );
}
