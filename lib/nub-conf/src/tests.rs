//! Tests of the loader: layers, faults with their places, what a repository may set, and rough input.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::load::{environment, names, repo_file, user_file};
use crate::*;

mod files;
mod registry;
mod repo;

/// A fresh home and repository.
struct Place(PathBuf);

impl Place {
    fn new() -> Place {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let base = std::env::temp_dir().canonicalize().unwrap();
        let base =
            base.join(format!("nub-conf-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
        fs::create_dir_all(base.join("home/.config/nub")).unwrap();
        fs::create_dir_all(base.join("repo/.nub")).unwrap();
        fs::create_dir_all(base.join("repo/.git/info")).unwrap();
        fs::write(base.join("repo/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        Place(base)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn paths(&self, cwd: &str) -> Paths {
        let home = self.0.join("home");
        Paths::find(self.0.join(cwd), |name| (name == "HOME").then(|| home.clone())).unwrap()
    }

    fn load(&self, env: &[(&str, &str)]) -> Result<Loaded, ConfError> {
        let mut loaded = Loaded {
            config: Config::default(),
            paths: self.paths("repo"),
            warnings: Vec::new(),
            origins: Origins::new(),
            files: Vec::new(),
            profile: "default".into(),
        };
        user_file(&mut loaded, None)?;
        repo_file(&mut loaded);
        let env = env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        if let Some(profile) = environment(&mut loaded, env)? {
            loaded.profile = profile;
        }
        names(&loaded)?;
        Ok(loaded)
    }

    fn user(&self, text: impl AsRef<[u8]>) -> Result<Loaded, ConfError> {
        self.write("home/.config/nub/config.toml", text);
        self.load(&[])
    }

    fn repo(&self, text: impl AsRef<[u8]>) -> Loaded {
        self.write("repo/.nub/config.toml", text);
        self.load(&[]).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn fault(text: &str) -> String {
    let place = Place::new();
    let message = place.user(text).unwrap_err().to_string();
    message.replace(&format!("{}/", place.0.join("home/.config/nub").display()), "")
}

/// The example of the design, every section once.
const FULL: &str = r#"
version = 1
[model]
default  = "gpt-4o"
endpoint = "openai"
compact  = "gpt-4o-mini"
[[endpoint]]
name = "openai"
base_url = "https://api.openai.com/v1"
api_key  = "env:OPENAI_API_KEY"
retries  = 0
connect_timeout = 10
first_byte_timeout = 300.5
[endpoint.headers]
X-Org = "env:MY_ORG"
[[endpoint]]
name = "local"
base_url = "http://localhost:11434/v1"
api_key  = "none"
[endpoint.caps]
parallel_tool_calls = false
system_role = ""
max_context = 32_768
text_tool_calls = ["json_fence", "hermes"]
inline_think = "implicit"
reasoning_replay = "required"
[endpoint.extra_body]
top_k = 20
nested = { a = [1, 2.5, true] }
[[mcp]]
name = "github"
command = "gh-mcp-server"
env = { GITHUB_TOKEN = "env:GITHUB_TOKEN" }
tools = ["create_issue"]
[[mcp]]
name = "linear"
url = "https://mcp.example/mcp"
[profiles]
default = []
review  = ["github"]
[permissions]
bash = "ask"
deny_paths = ["**/.env"]
[sandbox]
mode = "read-only"
network = false
[limits]
max_tool_time = 120
compact_at = 0.75
[loop]
steer = "batch"
[stages]
stream = "nub-governor | nub-stream"
[governor]
soft = 1000
"#;

#[test]
fn the_whole_schema_is_read() {
    let loaded = Place::new().user(FULL).unwrap();
    let config = &loaded.config;
    assert_eq!((config.model.default.as_str(), config.endpoints.len(), config.mcp.len()), ("gpt-4o", 2, 2));
    let local = config.endpoint("local").unwrap();
    let mut caps = Caps::default();
    local.caps.apply(&mut caps);
    assert_eq!((caps.max_context, caps.system_role), (32_768, SystemRole::None));
    assert_eq!(caps.text_tool_calls, [TextToolCalls::JsonFence, TextToolCalls::Hermes]);
    assert_eq!((caps.inline_think, caps.usage_in_stream), (InlineThink::Implicit, true));
    assert_eq!(local.extra_body["top_k"].as_integer(), Some(20));
    assert_eq!(config.endpoints[0].first_byte_timeout, Some(300.5));
    assert_eq!(config.permissions.deny_paths, ["**/.env"]);
    assert_eq!(config.sandbox.mode, SandboxMode::ReadOnly);
    assert!(matches!(&loaded.origins["endpoint.openai.retries"], Origin::File { line: 11, column: 12, .. }));
    let secrets: Vec<String> = secret_names(config).into_iter().collect();
    assert_eq!(secrets, ["GITHUB_TOKEN", "MY_ORG", "OPENAI_API_KEY"]);
}

#[test]
fn faults_have_a_place_and_a_hint() {
    for (text, expected) in [
        (
            "[limits]\nmax_turn = 3\n",
            "config.toml:2:1: unknown key 'limits.max_turn'; did you mean 'max_turns'?",
        ),
        (
            "[permission]\nbash = \"deny\"",
            "config.toml:1:2: unknown key 'permission'; did you mean 'permissions'?",
        ),
        ("max_turns = 3", "config.toml:1:1: unknown key 'max_turns'; did you mean 'limits.max_turns'?"),
        (
            "[permissions]\nbash = \"denied\"",
            "config.toml:2:8: permissions.bash must be one of \"auto\", \"ask\", \"deny\", not 'denied'",
        ),
        (
            "[permissions]\ndeny_paths = \"**/.env\"",
            "config.toml:2:14: permissions.deny_paths must be a list of strings, not a string",
        ),
        (
            "[permissions]\ndeny_paths = [\"a[\"]",
            "config.toml:2:14: permissions.deny_paths has 'a[', which is no glob: unclosed character class; missing ']'",
        ),
        (
            "# ü\n[limits]\ncompact_at = 1.5",
            "config.toml:3:14: limits.compact_at must be a share from 0 to 1",
        ),
        ("limits.max_turns = 0", "config.toml:1:20: limits.max_turns must be at least 1"),
        (
            "limits.max_turns = 4294967296",
            "config.toml:1:20: limits.max_turns must be a whole number from 0 to 4294967295",
        ),
        ("model = \"gpt\"", "config.toml:1:9: model must be a table, not a string"),
        ("version = 2\nnew = 1", "config.toml:1:11: version 2 of the format; this nub knows version 1"),
        ("version = \"1\"", "config.toml:1:11: version must be a whole number, not a string"),
        (
            "[endpoint]\nname = \"a\"",
            "config.toml:1:1: endpoint must be a list of tables: write [[endpoint]]",
        ),
        ("[[endpoint]]\nbase_url = \"http://a\"", "config.toml:1:1: endpoint has no name"),
        ("[[endpoint]]\nname = \"a\"", "config.toml:1:1: endpoint.a has no base_url"),
        (
            "[[endpoint]]\nname = \"a\"\nbase_url = \"a.com\"",
            "config.toml:3:12: endpoint.a.base_url must be an address such as \"https://api.example.com/v1\"",
        ),
        ("[[mcp]]\nname = \"a\"", "config.toml:1:1: mcp.a has neither command nor url"),
        (
            "[model]\nendpoint = \"opnai\"\n[[endpoint]]\nname = \"openai\"\nbase_url = \"http://a\"",
            "config.toml:2:12: there is no endpoint 'opnai'; did you mean 'openai'?",
        ),
        ("a = 1\na = 2", "config.toml:2:1: duplicate key"),
    ] {
        assert_eq!(fault(text), expected, "{text}");
    }
    let twice = "[[endpoint]]\nname = \"a\"\nbase_url = \"http://a\"\n";
    assert!(fault(&format!("{twice}{twice}")).ends_with("config.toml:4:1: endpoint 'a' stands here twice"));
    for bad in ["-1", "0", "nan", "inf", "1e300"] {
        let text = format!("[[endpoint]]\nname = \"a\"\nbase_url = \"http://a\"\nidle_timeout = {bad}");
        assert!(fault(&text).contains(":4:16: endpoint.a.idle_timeout must be"), "{bad}");
    }
}

#[test]
fn a_pasted_key_is_not_shown() {
    for key in ["sk-secret", "secret:x", "env:", "file:secret", "cmd: "] {
        let text = format!("[[endpoint]]\nname = \"a\"\nbase_url = \"http://a\"\napi_key = \"{key}\"");
        let message = fault(&text);
        assert!(
            message.contains(":4:11: endpoint.a.api_key must be") && !message.contains("secret"),
            "{message}"
        );
    }
}

#[test]
fn bytes_that_are_no_toml_are_told_apart() {
    let place = Place::new();
    assert_eq!(place.user(b"\xEF\xBB\xBF[limits]\nmax_turns = 7").unwrap().config.limits.max_turns, 7);
    for bytes in [&b"\xFF\xFEv\0"[..], b"\x1f\x8b\x08", &vec![b'#'; 2 << 20]] {
        assert!(place.user(bytes).is_err());
        place.write("home/.config/nub/config.toml", "");
        let loaded = place.repo(bytes);
        assert_eq!((loaded.config, loaded.warnings.len()), (Config::default(), 1));
    }
}

#[test]
fn the_environment_wins_and_is_checked() {
    let place = Place::new();
    place.write("home/.config/nub/config.toml", FULL);
    let env = |env: &[(&str, &str)]| place.load(env);
    let loaded = env(&[
        ("NUB_LIMITS__MAX_TURNS", "1000"),
        ("NUB_SANDBOX__MODE", "off"),
        ("NUB_SANDBOX__NETWORK", "true"),
        ("NUB_MODEL", "m"),
        ("NUB_MODEL__DEFAULT", "other"),
        ("NUB_MODEL__COMPACT", "12"),
        ("NUB_CONTEXT__FILES", "A.md, B.md"),
        ("NUB_PERMISSIONS__DENY_BASH", "[\"a,b\"]"),
        ("NUB_LIMITS__COMPACT_AT", "1"),
        ("NUB_LOG", "debug"),
        ("NUB_ENDPOINT", ""),
        ("NUB_PROFILE", "review"),
    ])
    .unwrap();
    let config = &loaded.config;
    assert_eq!((config.limits.max_turns, config.sandbox.mode), (1000, SandboxMode::Off));
    assert_eq!((config.model.default.as_str(), config.model.compact.as_str()), ("m", "12"));
    assert_eq!(config.context.files, ["A.md", "B.md"]);
    assert_eq!(config.permissions.deny_bash, ["a,b"]);
    assert_eq!((config.limits.compact_at, loaded.profile.as_str()), (1.0, "review"));
    assert_eq!(loaded.origins["limits.max_turns"], Origin::Env { name: "NUB_LIMITS__MAX_TURNS".into() });
    for (name, value, expected) in [
        (
            "NUB_LIMITS__MAX_TURN",
            "1",
            "NUB_LIMITS__MAX_TURN: unknown key 'limits.max_turn'; did you mean 'max_turns'?",
        ),
        (
            "NUB_LIMITS__MAX_TURNS",
            "many",
            "NUB_LIMITS__MAX_TURNS: limits.max_turns must be a whole number, not a string",
        ),
        (
            "NUB_SANDBOX__MODE",
            "open",
            "NUB_SANDBOX__MODE: sandbox.mode must be one of \"off\", \"workspace-write\", \"read-only\", not 'open'",
        ),
        ("NUB_ENDPOINT", "locl", "NUB_ENDPOINT: there is no endpoint 'locl'; did you mean 'local'?"),
        ("NUB_PROFILE", "revue", "there is no profile 'revue'; did you mean 'review'?"),
    ] {
        assert_eq!(env(&[(name, value)]).unwrap_err().to_string(), expected);
    }
}

/// Every key has a class by construction; this holds the classes to the table of the design.
#[test]
fn classes_are_those_of_the_design() {
    let all = leaves(KEYS);
    assert!(all.len() > 60, "{}", all.len());
    for (name, class) in all {
        let (section, key) = name.split_once('.').unwrap_or(("", &name));
        let free = match section {
            "permissions" => key != "pass_env",
            "limits" | "governor" | "skills" => true,
            "context" => key != "walk_up",
            "sandbox" => key != "writable",
            _ => name == "version",
        };
        assert_eq!(matches!(class, Class::Free(_)), free, "{name}");
        assert_ne!(class, Class::Table, "{name}");
    }
}

#[test]
fn rough_input_never_panics() {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut next = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let tokens = [
        "[",
        "]",
        "[[",
        "=",
        "\"",
        "'",
        "\n",
        ".",
        "{",
        "}",
        "-",
        "1e999",
        "\u{0}",
        "é",
        "env:",
        "version",
        "1979-05-27",
        "0x",
        "_",
        "\\u",
        "\"\"\"",
        "limits",
        "true",
        ",",
    ];
    let place = Place::new();
    for _ in 0..400 {
        let mut text = FULL.to_owned();
        for _ in 0..=next(6) {
            let mut at = next(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            let end = (at + next(12)..text.len()).find(|end| text.is_char_boundary(*end)).unwrap_or(at);
            text.replace_range(at..end, tokens[next(tokens.len())]);
        }
        // either way is fine, as long as it comes back
        drop(place.user(&text));
        drop(fs::remove_file(place.0.join("home/.config/nub/config.toml")));
        place.repo(&text);
    }
}
