//! Rules about the messages: order, roles, ids, content, ballast.

use super::*;

#[test]
fn r04_r05_the_role_of_the_system_prompt() {
    let asked = json!({"system": [text("be good"), text("be short")], "messages": [user("hi")]});
    let first = |caps: Value| body(&asked, &plain(caps))["messages"].clone();
    let joined = "be good\n\nbe short";
    assert_eq!(first(json!({}))[0], json!({"role": "system", "content": joined}));
    assert_eq!(first(json!({"system_role": "developer"}))[0]["role"], "developer");
    let folded = first(json!({"system_role": ""}));
    assert_eq!(folded.as_array().unwrap().len(), 1);
    assert_eq!(
        folded[0],
        json!({"role": "user", "content": format!("<instructions>\n{joined}\n</instructions>\n\nhi")})
    );
}

#[test]
fn r10_r12_ids_go_back_as_they_came_or_as_mistral_wants_them() {
    let ids = |id: &str, caps: Value| {
        let sent = messages(&turn(id), &plain(caps));
        assert_eq!(sent[1]["tool_calls"][0]["id"], sent[2]["tool_call_id"]);
        sent[2]["tool_call_id"].as_str().unwrap().to_owned()
    };
    assert_eq!(ids("functions.read:0", json!({})), "functions.read:0");
    assert_eq!(ids("call_1", json!({})), "call_1");
    let short = ids("call_1", json!({"tool_id_format": "mistral9"}));
    assert!(short.len() == 9 && short.bytes().all(|b| b.is_ascii_alphanumeric()), "{short}");
    assert_eq!(short, ids("call_1", json!({"tool_id_format": "mistral9"})));
    assert_eq!(ids("abcDEF123", json!({"tool_id_format": "mistral9"})), "abcDEF123");
}

#[test]
fn r11_long_ids_are_shortened_the_same_way_every_time() {
    let long = format!("call_{}", "x".repeat(400));
    let sent = messages(&turn(&long), &plain(json!({})));
    let id = sent[1]["tool_calls"][0]["id"].as_str().unwrap();
    assert!(id.len() <= 40, "{id}");
    assert_eq!(sent[2]["tool_call_id"], id);
    let whole = messages(&turn(&long), &plain(json!({"tool_id_format": "verbatim"})));
    assert_eq!(whole[2]["tool_call_id"], long.as_str());
}

fn thought(raw: Option<Value>) -> Value {
    let mut block = json!({"kind": "thinking", "text": "hm"});
    if let Some(data) = raw {
        block["raw"] = json!({"endpoint": "here", "model": "m-1", "data": data});
    }
    json!([user("q"), assistant(&[block, call("c1")]), {"role": "user", "content": [result("c1", "r")]}])
}

#[test]
fn r13_thinking_that_must_come_back() {
    let required = plain(json!({"reasoning_replay": "required"}));
    assert_eq!(messages(&thought(None), &required)[1]["reasoning_content"], "hm");
    assert_eq!(messages(&turn("c1"), &required)[1]["reasoning_content"], "");
}

#[test]
fn r14_r15_thinking_stays_here_by_default() {
    let sent = messages(&thought(Some(json!({"field": "reasoning_content"}))), &plain(json!({})));
    for key in ["reasoning_content", "reasoning", "field"] {
        assert!(sent[1].get(key).is_none(), "{key}");
    }
}

#[test]
fn r16_r17_thinking_goes_back_under_its_own_field() {
    let cerebras = plain(json!({"reasoning_replay": "reasoning"}));
    let sent = messages(&thought(None), &cerebras);
    assert_eq!((&sent[1]["reasoning"], &sent[1]["reasoning_content"]), (&json!("hm"), &Value::Null));
    let gpt_oss = plain(json!({"reasoning_replay": "reasoning_content"}));
    let sent = messages(&thought(Some(json!({"field": "reasoning"}))), &gpt_oss);
    assert_eq!((&sent[1]["reasoning"], &sent[1]["reasoning_content"]), (&json!("hm"), &Value::Null));
}

fn signed(endpoint: &str, data: Value) -> Value {
    let mut call = call("c1");
    call["raw"] = json!({"endpoint": endpoint, "model": "m-1", "data": data});
    json!([user("q"), assistant(&[call]), {"role": "user", "content": [result("c1", "r")]}])
}

#[test]
fn r18_signatures_go_back_to_their_issuer_alone() {
    let data = json!({"extra_content": {"google": {"thought_signature": "c2ln"}}});
    let own = messages(&signed("here", data.clone()), &plain(json!({})));
    assert_eq!(own[1]["tool_calls"][0]["extra_content"]["google"]["thought_signature"], "c2ln");
    let foreign = messages(&signed("there", data.clone()), &plain(json!({})));
    assert!(foreign[1]["tool_calls"][0].get("extra_content").is_none());
    let gemini = messages(&signed("there", data), &plain(json!({"schema_subset": "gemini"})));
    assert_eq!(
        gemini[1]["tool_calls"][0]["extra_content"]["google"]["thought_signature"],
        "skip_thought_signature_validator"
    );
}

#[test]
fn r19_details_go_back_byte_for_byte_and_in_order() {
    let details = r#"[{"b":1,"a":-0,"n":18446744073709551616},{"x":0.10000000000000000055}]"#;
    let asked = format!(
        r#"{{"messages":[{{"role":"user","content":[{{"kind":"text","text":"q"}}]}},{{"role":"assistant","content":[
        {{"kind":"thinking","text":"hm","raw":{{"endpoint":"here","model":"m-1","data":{{"reasoning_details":{details}}}}}}},
        {{"kind":"text","text":"a"}}]}},{{"role":"user","content":[{{"kind":"text","text":"q"}}]}}]}}"#
    );
    let asked: Request = serde_json::from_str(&asked).unwrap();
    let sent = String::from_utf8(build(&asked, &plain(json!({}))).unwrap().bytes).unwrap();
    assert!(sent.contains(&format!(r#""reasoning_details":{details}"#)), "{sent}");
    let other = target("https://example.com/v1", "m-2", json!({}));
    let sent = String::from_utf8(build(&asked, &other).unwrap().bytes).unwrap();
    assert!(!sent.contains("reasoning_details"));
}

#[test]
fn r20_r21_r22_content_beside_calls() {
    let sent = messages(&turn("c1"), &plain(json!({})));
    assert_eq!(sent[1].get("content"), Some(&Value::Null));
    let empty = messages(&turn("c1"), &plain(json!({"null_content": false})));
    assert_eq!(empty[1]["content"], "");
    let blank = json!([user("q"), assistant(&[text(" \n"), call("c1")]), {"role": "user", "content": [result("c1", "r")]}]);
    assert_eq!(messages(&blank, &plain(json!({})))[1].get("content"), Some(&Value::Null));
    let silent =
        json!([user("q"), assistant(&[call("c1")]), {"role": "user", "content": [result("c1", "")]}]);
    assert_eq!(messages(&silent, &plain(json!({})))[2]["content"], "(no output)");
}

#[test]
fn r23_content_is_a_string_unless_there_is_an_image() {
    let image = json!({"kind": "image", "media_type": "image/png", "data": "AAAA"});
    let asked = json!([{"role": "user", "content": [text("a"), text("b")]}]);
    assert_eq!(messages(&asked, &plain(json!({})))[0]["content"], "a\n\nb");
    let asked = json!([{"role": "user", "content": [text("a"), image]}]);
    let sent = messages(&asked, &plain(json!({"supports_images": true})));
    assert_eq!(sent[0]["content"][0], json!({"type": "text", "text": "a"}));
    assert_eq!(sent[0]["content"][1]["image_url"]["url"], "data:image/png;base64,AAAA");
    let blind = messages(&asked, &plain(json!({})));
    assert!(blind[0]["content"].as_str().unwrap().contains("image is left out"));
}

#[test]
fn r24_a_bridge_between_results_and_a_user() {
    let asked = json!([user("q"), assistant(&[call("c1")]), {"role": "user", "content": [result("c1", "r"), text("wait")]}]);
    let roles = |caps: Value| -> Vec<String> {
        let sent = messages(&asked, &plain(caps));
        sent.as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(roles(json!({})), ["user", "assistant", "tool", "user"]);
    assert_eq!(roles(json!({"bridge_after_tool": true})), ["user", "assistant", "tool", "assistant", "user"]);
}

#[test]
fn r25_something_must_be_there_to_answer() {
    for conversation in [json!([]), json!([user("q"), assistant(&[text("a")])]), json!([user(" ")])] {
        let failure = try_body(&json!({"messages": conversation}), &plain(json!({}))).unwrap_err();
        assert_eq!(failure.class, nub_proto::ErrorClass::BadRequest);
    }
    let orphan = json!([{"role": "user", "content": [result("gone", "r")]}]);
    let sent = messages(&orphan, &plain(json!({})));
    assert_eq!(sent[0]["role"], "user");
    assert!(sent[0]["content"].as_str().unwrap().ends_with('r'));
}

#[test]
fn r26_every_call_has_its_result_behind_it_in_order() {
    let asked = json!([user("q"), assistant(&[call("c1"), call("c2"), call("c3")]),
        {"role": "user", "content": [result("c3", "3"), text("go on"), result("c1", "1")]}]);
    let sent = messages(&asked, &plain(json!({})));
    let ids: Vec<&str> = (2..5).map(|at| sent[at]["tool_call_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["c1", "c2", "c3"]);
    assert!(sent[3]["content"].as_str().unwrap().contains("interrupted"));
    assert_eq!(sent[5], json!({"role": "user", "content": "go on"}));
    let open = messages(&json!([user("q"), assistant(&[call("c1")])]), &plain(json!({})));
    assert_eq!(open[2]["role"], "tool");
}

#[test]
fn r27_one_system_message_at_the_head() {
    let asked = json!({"system": [text("a"), text(""), text("b")], "messages": [user("1"), assistant(&[text("2")]), user("3")]});
    let sent = body(&asked, &plain(json!({})))["messages"].clone();
    let systems: Vec<usize> =
        (0..sent.as_array().unwrap().len()).filter(|at| sent[*at]["role"] == "system").collect();
    assert_eq!(systems, [0]);
    assert_eq!(sent[0]["content"], "a\n\nb");
}

#[test]
fn r28_neighbours_of_one_role_are_one_message() {
    let asked = json!([user("a"), user("b"), assistant(&[text("c")]), assistant(&[text("d")]), user("e")]);
    assert_eq!(
        messages(&asked, &plain(json!({}))),
        json!([{"role": "user", "content": "a\n\nb"}, {"role": "assistant", "content": "c\n\nd"}, {"role": "user", "content": "e"}])
    );
}

#[test]
fn r29_an_assistant_that_said_nothing_is_left_out() {
    for blocks in [vec![], vec![text("")], vec![json!({"kind": "thinking", "text": "hm"})]] {
        let sent = messages(&json!([user("a"), assistant(&blocks), user("b")]), &plain(json!({})));
        assert_eq!(sent, json!([{"role": "user", "content": "a\n\nb"}]));
    }
}

#[test]
fn r30_a_tool_message_has_no_name() {
    let sent = messages(&turn("c1"), &plain(json!({})));
    assert_eq!(sent[2], json!({"role": "tool", "content": "r", "tool_call_id": "c1"}));
}

#[test]
fn r45_a_body_is_always_json() {
    let asked: Request = nub_proto::Line::check(
        br#"{"v":1,"type":"request","messages":[{"role":"user","content":[{"kind":"text","text":"\ud83d x"}]}]}"#.to_vec(),
        1,
    )
    .unwrap()
    .read()
    .unwrap();
    let sent: Value = serde_json::from_slice(&build(&asked, &plain(json!({}))).unwrap().bytes).unwrap();
    assert_eq!(sent["messages"][0]["content"], "\u{fffd} x");
}

#[test]
fn r48_images_of_results_come_after_the_last_result() {
    let image = json!({"kind": "image", "media_type": "image/png", "data": "AAAA"});
    let seen = json!({"kind": "tool_result", "tool_use_id": "c1", "result": [text("seen"), image]});
    let asked = json!([user("q"), assistant(&[call("c1"), call("c2")]), {"role": "user", "content": [seen, result("c2", "r"), text("and?")]}]);
    let sent = messages(&asked, &plain(json!({"supports_images": true})));
    let roles: Vec<&str> = sent.as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool", "user"]);
    assert!(sent[2]["content"].as_str().unwrap().starts_with("seen"));
    assert_eq!(sent[4]["content"][1]["type"], "image_url");
    assert_eq!(sent[4]["content"][2]["text"], "and?");
}

#[test]
fn arguments_that_were_no_json_go_back_as_json_that_carries_them() {
    let broken = json!({"kind": "tool_use", "id": "c1", "name": "read", "input_raw": "{\"path\": a\""});
    let asked = json!([user("q"), assistant(&[broken]), {"role": "user", "content": [result("c1", "bad")]}]);
    let sent = messages(&asked, &plain(json!({})));
    let arguments = sent[1]["tool_calls"][0]["function"]["arguments"].as_str().unwrap();
    let arguments: Value = serde_json::from_str(arguments).unwrap();
    assert_eq!(arguments["input_raw"], "{\"path\": a\"");
}

#[test]
fn an_explicit_cache_is_marked() {
    let asked = json!({"system": [text("a"), {"kind": "text", "text": "b", "cache_mark": true}], "messages": [user("q")]});
    let sent = body(&asked, &plain(json!({"explicit_cache": true})))["messages"].clone();
    assert!(sent[0]["content"][0].get("cache_control").is_none());
    assert_eq!(sent[0]["content"][1]["cache_control"], json!({"type": "ephemeral"}));
    assert_eq!(sent[1]["content"][0]["cache_control"], json!({"type": "ephemeral"}));
    let sent = body(&asked, &plain(json!({})))["messages"].clone();
    assert_eq!(sent[0]["content"], "a\n\nb");
}
