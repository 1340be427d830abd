//! Calls written as text, in every form and its variants, cut at every character.

use nub_conf::TextToolCalls::{self, Dsml, Harmony, Hermes, JsonFence, Kimi, Mistral, QwenXml};

use super::{Scanner, Segment};

/// What a text becomes: `T` text, `K` thinking, `C` call, neighbours of one kind joined.
fn scan<'a>(forms: &[TextToolCalls], pieces: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let tools = ["read", "bash", "todo"].map(String::from);
    let mut scanner = Scanner::new(forms, &tools).unwrap();
    let mut all: Vec<String> = Vec::new();
    let mut out = |segment: Segment<'_>| {
        let (mark, text) = match segment {
            Segment::Text(text) => ('T', text.to_owned()),
            Segment::Thinking(text) => ('K', text.to_owned()),
            Segment::Call { name, arguments, .. } => ('C', format!("{name}{arguments}")),
        };
        match all.last_mut() {
            Some(last) if mark != 'C' && last.starts_with(mark) => last.push_str(&text),
            _ => all.push(format!("{mark}{text}")),
        }
    };
    for piece in pieces {
        scanner.push(piece, &mut out);
    }
    scanner.end(&mut out);
    all
}

fn check(forms: &[TextToolCalls], text: &str, want: &[&str]) {
    assert_eq!(scan(forms, [text]), want, "{text}");
    for (at, _) in text.char_indices() {
        assert_eq!(scan(forms, [&text[..at], &text[at..]]), want, "{text} cut at {at}");
    }
    let letters: Vec<String> = text.chars().map(String::from).collect();
    assert_eq!(scan(forms, letters.iter().map(String::as_str)), want, "{text} letter by letter");
}

/// A text that must stay as it is.
fn stays(forms: &[TextToolCalls], text: &str) {
    check(forms, text, &[&format!("T{text}")]);
}

#[test]
fn hermes() {
    let f = &[Hermes];
    let call = r#"{"name": "read", "arguments": {"path": "a"}}"#;
    check(f, &format!("<tool_call>\n{call}\n</tool_call>"), &[r#"Cread{"path": "a"}"#]);
    check(f, &format!("A <b <tool_call>{call}</tool_call> B"), &["TA <b ", r#"Cread{"path": "a"}"#, "T B"]);
    check(
        f,
        &format!("<tool_call>{call}</tool_call>\n<tool_call>{call}</tool_call>"),
        &[r#"Cread{"path": "a"}"#, "T\n", r#"Cread{"path": "a"}"#],
    );
    check(f, &format!("<tool_call>{call}\n{call}</tool_call>"), &[r#"Cread{"path": "a"}"#; 2]);
    check(f, &format!("<tool_call>[{call}, {call}]</tool_call>"), &[r#"Cread{"path": "a"}"#; 2]);
    check(f, &format!("<tool_call>{call}"), &[r#"Cread{"path": "a"}"#]);
    check(
        f,
        &format!("<tool_call>{call}</tool_"),
        &["T<tool_call>".to_owned() + call + "</tool_"].each_ref().map(|s| &**s),
    );
    check(f, r#"<tool_call>{"name":"bash","parameters":"{\"c\":1}"}</tool_call>"#, &[r#"Cbash{"c":1}"#]);
    check(f, r#"<tool_call>{"name":"todo"}</tool_call>"#, &["Ctodo"]);
    check(
        f,
        r#"<tool_call>{"name":"bash","arguments":{"c":"echo </tool_call> }"}}</tool_call>!"#,
        &[r#"Cbash{"c":"echo </tool_call> }"}"#, "T!"],
    );
    check(f, r#"<tool_call>{"function":{"name":"read","arguments":{}}}</tool_call>"#, &["Cread{}"]);
    stays(f, r#"<tool_call>{"name": "launch", "arguments": {}}</tool_call>"#);
    stays(f, "the tag <tool_call> opens a call");
    stays(f, r#"<tool_call>{"name": "read", "argu"#);
    stays(f, "<tool_call>{broken}</tool_call> and more");
    stays(f, "<tool_call></tool_call>");
    stays(f, "<tool_call>\n<function=read>\n</function>\n</tool_call>");
    stays(f, "a < b <= c <t <tool_cal");
}

#[test]
fn qwen_xml() {
    let f = &[QwenXml];
    let inner = "<function=bash>\n<parameter=command>\necho a\n\nb\n</parameter>\n</function>";
    let call = r#"Cbash{"command":"echo a\n\nb"}"#;
    check(f, &format!("I run.\n<tool_call>\n{inner}\n</tool_call>"), &["TI run.\n", call]);
    check(f, inner, &[call]);
    check(f, &format!("{inner}\n</tool_call>\n"), &[call, "T\n"]);
    check(f, &format!("<tool_call>\n{inner}\n{inner}\n</tool_call>"), &[call; 2]);
    check(f, &format!("<tool_call>{inner}"), &[call]);
    check(f, "<function=todo>\n</function>", &["Ctodo{}"]);
    check(
        f,
        "<function=bash><parameter=a>1</parameter><parameter=b>\"x\" </function> y\n</parameter></function>",
        &[r#"Cbash{"a":"1","b":"\"x\" </function> y"}"#],
    );
    stays(f, "<tool_call>\n<function=launch>\n</function>\n</tool_call>");
    stays(f, r#"<tool_call>{"name": "read", "arguments": {}}</tool_call>"#);
    check(&[Hermes, QwenXml], &format!("<tool_call>{inner}</tool_call>"), &[call]);
    check(&[Hermes, QwenXml], r#"<tool_call>{"name":"read","arguments":{}}</tool_call>"#, &["Cread{}"]);
}

#[test]
fn the_schema_tells_numbers_from_strings() {
    let mut scanner = Scanner::new(&[QwenXml], &["read".to_owned()]).unwrap();
    let schema = r#"{"properties":{"n":{"type":"integer"},"m":{"type":["array","null"]},"s":{"type":"string"},"w":{"type":"number"}}}"#;
    scanner.schema("read", &nub_proto::Json::parse(schema).unwrap());
    let value = |key: &str, value: &str| format!("<parameter={key}>\n{value}\n</parameter>");
    let all =
        [value("n", "1"), value("m", "[1]"), value("s", "1"), value("w", "one"), value("x", "1")].concat();
    let mut arguments = String::new();
    scanner.push(&format!("<function=read>{all}</function>\n!"), &mut |segment| {
        if let Segment::Call { arguments: a, .. } = segment {
            arguments.push_str(a);
        }
    });
    assert_eq!(arguments, r#"{"n":1,"m":[1],"s":"1","w":"one","x":"1"}"#);
}

#[test]
fn mistral() {
    let f = &[Mistral];
    check(f, r#"Go. [TOOL_CALLS]read[ARGS]{"path": "]"}"#, &["TGo. ", r#"Cread{"path": "]"}"#]);
    check(
        f,
        r#"[TOOL_CALLS] [{"name": "read", "arguments": {"path": "a"}, "id": "abc"}]"#,
        &[r#"Cread{"path": "a"}"#],
    );
    check(f, r#"[TOOL_CALLS]read{"path": "a"}"#, &[r#"Cread{"path": "a"}"#]);
    check(f, r#"[TOOL_CALLS]read[CALL_ID]x1[ARGS]{"path": "a"}"#, &[r#"Cread{"path": "a"}"#]);
    check(f, r#"[TOOL_CALLS]read[ARGS]{}[TOOL_CALLS]bash[ARGS]{"c":1}"#, &["Cread{}", r#"Cbash{"c":1}"#]);
    check(
        f,
        r#"[TOOL_CALLS][{"name":"read","arguments":{}},{"name":"todo","arguments":{}}][/TOOL_CALLS]"#,
        &["Cread{}", "Ctodo{}"],
    );
    stays(f, r#"[TOOL_CALLS]launch[ARGS]{"path": "a"}"#);
    stays(f, "[TOOL_CALLS] is a marker\nof Mistral");
    stays(f, "a [TOOL] b [1]");
}

#[test]
fn kimi() {
    let f = &[Kimi];
    let call = |n: &str, i: u8| {
        format!(
            "<|tool_call_begin|>functions.{n}:{i}<|tool_call_argument_begin|>{{\"path\":\"a\"}}<|tool_call_end|>"
        )
    };
    let section = |inner: &str| format!("<|tool_calls_section_begin|>{inner}<|tool_calls_section_end|>");
    let read = r#"Cread{"path":"a"}"#;
    check(f, &format!("Look. {}", section(&call("read", 0))), &["TLook. ", read]);
    check(f, &section(&(call("read", 0) + &call("bash", 1))), &[read, r#"Cbash{"path":"a"}"#]);
    check(f, &format!("<|tool_calls_section_begin|>{}", call("read", 0)), &[read]);
    check(f, &call("read", 0), &[read]);
    stays(f, &section(&call("launch", 0)));
    stays(f, "<|tool_calls_section_begin|> nothing");
}

#[test]
fn dsml() {
    let f = &[Dsml];
    let invoke = "<｜DSML｜invoke name=\"bash\">\n<｜DSML｜parameter name=\"c\" string=\"true\">a > 1</｜DSML｜parameter>\n<｜DSML｜parameter name=\"t\" string=\"false\">[1, 2]</｜DSML｜parameter>\n</｜DSML｜invoke>";
    let bash = r#"Cbash{"c":"a > 1","t":[1, 2]}"#;
    for name in ["function_calls", "tool_calls"] {
        let unit = format!("<｜DSML｜{name}>\n{invoke}\n</｜DSML｜{name}>");
        check(f, &format!("Hm {unit}"), &["THm ", bash]);
    }
    check(f, invoke, &[bash]);
    check(f, &format!("<｜DSML｜function_calls>\n{invoke}\n{invoke}"), &[bash; 2]);
    stays(f, &invoke.replace("bash", "launch"));
    check(
        f,
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read<｜tool▁sep｜>{\"path\":1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        &[r#"Cread{"path":1}"#],
    );
    check(
        f,
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read\n```json\n{\"path\":1}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        &[r#"Cread{"path":1}"#],
    );
}

#[test]
fn harmony() {
    let f = &[Harmony];
    check(
        f,
        "<|channel|>analysis<|message|>a < b<|end|><|start|>assistant<|channel|>final<|message|>Hi <|x|> you<|return|>",
        &["Ka < b", "THi <|x|> you"],
    );
    check(
        f,
        "<|channel|>commentary to=functions.read <|constrain|>json<|message|>{\"path\":\"a\"}<|call|>",
        &[r#"Cread{"path":"a"}"#],
    );
    check(
        f,
        "<|start|>assistant to=functions.read<|channel|>commentary json<|message|>{\"path\":\"a\"}",
        &[r#"Cread{"path":"a"}"#],
    );
    check(f, "<|channel|>commentary<|message|>I look.<|end|>", &["TI look."]);
    check(f, "plain text", &["Tplain text"]);
    stays(f, "<|channel|>commentary to=functions.launch <|constrain|>json<|message|>{}<|call|>");
    stays(f, "<|channel|>analy");
}

#[test]
fn json_fence() {
    let f = &[JsonFence];
    let call = r#"{"name": "read", "arguments": {"path": "a"}}"#;
    let read = r#"Cread{"path": "a"}"#;
    for fence in ["```json\n", "```\n", "```xml\n", "```tool_call\n", "```json ", " \n```JSON\r\n"] {
        check(f, &format!("{fence}{call}\n```"), &[read]);
        check(f, &format!("{fence}{call}\n{call}\n```\n"), &[read; 2]);
        check(f, &format!("{fence}[{call},\n{call}]```"), &[read; 2]);
        check(f, &format!("{fence}{call}"), &[read]);
        check(f, &format!("{fence}<tool_call>\n{call}\n</tool_call>\n```"), &[read]);
    }
    check(f, call, &[read]);
    check(f, &format!("<tools>\n{call}\n</tools>"), &[read]);
    stays(f, "<b>bold</b>");
    check(f, &format!("{call}\n{call}"), &[read; 2]);
    check(f, &format!("[{call}]"), &[read]);
    check(f, &format!("```json\n{call}\n```\n\n```json\n{call}\n```"), &[read; 2]);
    check(f, r#"{"name":"read","parameters":{"path": "a"}}"#, &[read]);
    check(f, r#"{"type":"function","function":{"name":"read","arguments":"{\"path\": \"a\"}"}}"#, &[read]);
    check(f, r#"{"tool_calls":[{"name":"read","arguments":{"path": "a"}}]}"#, &[read]);
    stays(f, &format!("Call it:\n```json\n{call}\n```\nThen wait."));
    stays(f, &format!("```json\n{call}\n```\nThen wait."));
    stays(f, &format!("Call it:\n```json\n{call}\n```"));
    stays(f, "```json\n{\"name\": \"launch\", \"arguments\": {}}\n```");
    stays(f, "```json\n{\"name\": \"read\", \"description\": \"d\", \"parameters\": {}}\n```");
    stays(f, "{\"name\": \"read\"}");
    stays(f, "{\"answer\": 42}");
    stays(f, "```rust\nfn main() {}\n```");
    stays(f, "[1, 2, 3]");
    stays(f, "```json\n{\"name\": \"read\", \"argum");
    stays(f, "``");
}

#[test]
fn prose_flows() {
    let tools = ["read".to_owned()];
    let mut scanner =
        Scanner::new(&[Hermes, JsonFence, Harmony, Kimi, Dsml, Mistral, QwenXml], &tools).unwrap();
    let mut text = String::new();
    for word in ["One ", "two <", "b> three ", "[x] ", "{\"a\": 1}"] {
        scanner.push(word, &mut |segment| match segment {
            Segment::Text(more) => text.push_str(more),
            other => panic!("{other:?}"),
        });
    }
    assert_eq!(text, "One two <b> three [x] {\"a\": 1}");
}
