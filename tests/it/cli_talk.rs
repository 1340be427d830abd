//! Tests of the line session.

use crate::cli_fake::Fake;

/// A loop that answers each prompt with its own text, in capitals.
const ECHO: &str = r#"echo "$@" >> args
echo '{"v":1,"type":"ready","session":"S","model":"m","context_tokens":0,"max_context":0,"tools":[]}'
while IFS= read -r line; do
    text=$(printf '%s' "$line" | sed 's/.*"text":"\(.*\)"}/\1/')
    printf '%s\n' "$line" >> input
    echo '{"v":1,"type":"turn_start","turn":1}'
    echo '{"v":1,"type":"block_start","index":0,"block":{"kind":"text"}}'
    printf '{"v":1,"type":"block_delta","index":0,"text":"you said %s"}\n' "$text"
    echo '{"v":1,"type":"result","stop":"end_turn","text":"","turns":1,"usage":{},"session":"S","exit":0}'
done"#;

#[test]
fn piped_lines_are_prompts_one_after_the_other() {
    let fake = Fake::new("nub-loop", ECHO);
    let ran = fake.run(&[], "one\n\ntwo\\\nlines\n/usr/bin is a path\n");
    let answers = "you said one\nyou said two\nlines\nyou said /usr/bin is a path\n";
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, answers, ""));
    assert_eq!(fake.scratch.read("input").matches("\"op\":\"prompt\"").count(), 3);
    assert_eq!(fake.scratch.read("args"), "--session new\n");
}

#[test]
fn the_line_session_knows_a_few_words() {
    let fake = Fake::new("nub-loop", ECHO);
    let ran = fake.run(&["-c"], "/help\n/nonsense\none\n/reset\ntwo\n/exit\nthree\n");
    assert_eq!((ran.code, ran.out.as_str()), (0, "you said one\nyou said two\n"));
    assert!(ran.err.contains("/reset   begin a new session"), "{}", ran.err);
    assert!(ran.err.contains("there is no command '/nonsense'"), "{}", ran.err);
    assert_eq!(fake.scratch.read("args"), "--session latest\n--session new\n");
}
