//! From a conversation to the messages of a body, in the order and shape that the strictest servers ask
//! for: one system message first, roles alternate, every call is followed by its result.

use nub_conf::ReasoningReplay;
use nub_proto::{Block, ErrorClass, Input, Kind, Message, Role, repair};

use super::message::{Content, Function, Part, ToolCall, Wire};
use super::object::Object;
use super::{Ground, system_role};
use crate::failure::Failure;

/// What stands between results and a user message where a template insists on it.
const BRIDGE: &str = "OK.";
/// Google's word for a call that has no signature since another model made it.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";
/// Keys of a message that ballast never sets.
const OWN_KEYS: &[&str] = &["role", "content", "tool_calls", "tool_call_id", "name", "field"];

/// The messages of a request.
///
/// # Errors
/// There is nothing to answer.
pub fn of(ground: &Ground) -> Result<Vec<Wire>, Failure> {
    let mut conversation = ground.request.messages.clone();
    repair(&mut conversation);
    let mut history = History { ground, wires: Vec::new() };
    let mut calls = Vec::new();
    for message in &conversation {
        match message.role {
            Role::Assistant => calls = history.assistant(message),
            Role::User => history.user(message, &std::mem::take(&mut calls)),
        }
    }
    history.system();
    let mut wires = history.wires;
    let Some(last) = wires.last_mut().filter(|last| matches!(last.role, "user" | "tool")) else {
        return Err(Failure::new(
            ErrorClass::BadRequest,
            "the conversation does not end with something to answer",
        )
        .hint("add a user message"));
    };
    if ground.target.caps.explicit_cache {
        last.content.mark_last();
    }
    Ok(wires)
}

struct History<'a> {
    ground: &'a Ground<'a>,
    wires: Vec<Wire>,
}

impl<'a> History<'a> {
    /// The system prompt: one message, or the head of the first user message.
    fn system(&mut self) {
        let content = self.content(&self.ground.system);
        if content.is_empty() {
            return;
        }
        if let Some(role) = system_role(self.ground.target.caps.system_role) {
            self.wires.insert(0, Wire::new(role, content));
            return;
        }
        let texts = self.ground.system.iter().filter_map(|block| match &block.kind {
            Kind::Text { text } => Some(text.as_str()),
            _ => None,
        });
        let marked = format!("<instructions>\n{}\n</instructions>", texts.collect::<Vec<_>>().join("\n\n"));
        match self.wires.first_mut() {
            Some(first) if first.role == "user" => first.content.prepend(marked),
            _ => self.wires.insert(0, Wire::new("user", Content::of(vec![Part::text(marked)]))),
        }
    }

    /// Adds an assistant message; returns the ids of its calls.
    fn assistant(&mut self, message: &'a Message) -> Vec<String> {
        let caps = &self.ground.target.caps;
        let mut parts = Vec::new();
        let (mut tool_calls, mut ids) = (Vec::new(), Vec::new());
        for block in &message.content {
            match &block.kind {
                Kind::ToolUse { id, name, input } if caps.tool_calls => {
                    tool_calls.push(self.call(block, id, name, input));
                    ids.push(id.clone());
                }
                Kind::ToolUse { id, name, input } => {
                    parts.push(Part::text(format!("[called {name} with {}]", arguments(input))));
                    ids.push(id.clone());
                }
                Kind::Text { .. } => parts.push(self.part(block)),
                Kind::Thinking { .. } | Kind::Image { .. } | Kind::ToolResult { .. } => {}
            }
        }
        let mut content = Content::of(parts);
        if content.is_empty() && tool_calls.is_empty() {
            return ids;
        }
        if !tool_calls.is_empty() && caps.null_content {
            content = content.or_null();
        }
        let more = self.thinking(message, !tool_calls.is_empty());
        self.push(Wire { tool_calls, more, ..Wire::new("assistant", content) });
        ids
    }

    fn call(&self, block: &Block, id: &str, name: &str, input: &Input) -> ToolCall {
        let mut more = Object::default();
        self.ballast(block, &mut more);
        if self.ground.target.caps.schema_subset == "gemini" && more.is_empty() {
            let mut signature = Object::default();
            let mut google = Object::default();
            drop(signature.set("thought_signature", NO_SIGNATURE));
            drop(google.set("google", &signature));
            drop(more.set("extra_content", &google));
        }
        let function =
            Function { name: self.ground.names.wire(name).to_owned(), arguments: arguments(input) };
        ToolCall { id: self.ground.ids.wire(id).to_owned(), kind: "function", function, more }
    }

    /// How the model thought, as the endpoint wants it back.
    fn thinking(&self, message: &Message, has_calls: bool) -> Object {
        let mut more = Object::default();
        let (mut text, mut field) = (String::new(), None);
        for block in &message.content {
            if let Kind::Thinking { text: thought } = &block.kind {
                if !text.is_empty() {
                    text.push_str("\n\n");
                }
                text.push_str(thought);
                field = field.or_else(|| self.field(block));
            }
            if !matches!(block.kind, Kind::ToolUse { .. }) {
                self.ballast(block, &mut more);
            }
        }
        let field = match self.ground.target.caps.reasoning_replay {
            ReasoningReplay::None => return more,
            ReasoningReplay::Reasoning => field.unwrap_or_else(|| "reasoning".into()),
            ReasoningReplay::ReasoningContent => field.unwrap_or_else(|| "reasoning_content".into()),
            ReasoningReplay::Required if has_calls || !text.is_empty() => "reasoning_content".into(),
            ReasoningReplay::Required => return more,
        };
        if !text.is_empty() || self.ground.target.caps.reasoning_replay == ReasoningReplay::Required {
            drop(more.set(&field, &text));
        }
        more
    }

    /// The field that thinking came in, when it came from here.
    fn field(&self, block: &Block) -> Option<String> {
        let data = self.ground.origin.open(block.raw.as_ref()?)?;
        Object::read(&data)?.get("field")?.read().ok()
    }

    /// Ballast goes back where it came from, and nowhere else.
    fn ballast(&self, block: &Block, into: &mut Object) {
        let data = block.raw.as_ref().and_then(|raw| self.ground.origin.open(raw));
        let Some(data) = data.as_ref().and_then(Object::read) else { return };
        for (key, value) in data.iter().filter(|(key, _)| !OWN_KEYS.contains(key)) {
            drop(into.set(key, value));
        }
    }

    /// Adds a user message: first the results of `calls` in their order, then what else was said.
    fn user(&mut self, message: &'a Message, calls: &[String]) {
        let mut images = Vec::new();
        for id in calls {
            let answers = |block: &&&Block| matches!(&block.kind, Kind::ToolResult { tool_use_id, .. } if tool_use_id == id);
            if let Some(block) = message.content.iter().collect::<Vec<_>>().iter().find(answers) {
                self.result(block, id, &mut images);
            }
        }
        let mut parts = Vec::new();
        if !images.is_empty() {
            parts.push(Part::text("Images of the results above:"));
            parts.append(&mut images);
        }
        for block in &message.content {
            match &block.kind {
                Kind::ToolResult { tool_use_id, result, .. } => {
                    if !calls.contains(tool_use_id) {
                        // its call is gone: no server takes it as a result
                        parts.push(Part::text(format!("[result of an earlier call]\n{}", text_of(result))));
                    }
                }
                Kind::Text { .. } | Kind::Image { .. } => parts.push(self.part(block)),
                Kind::Thinking { .. } | Kind::ToolUse { .. } => {}
            }
        }
        self.push(Wire::new("user", Content::of(parts)));
    }

    fn result(&mut self, block: &Block, id: &str, images: &mut Vec<Part>) {
        let Kind::ToolResult { result, .. } = &block.kind else { return };
        let caps = &self.ground.target.caps;
        let mut text = text_of(result);
        for image in result {
            if let Kind::Image { media_type, data } = &image.kind {
                let note = if caps.supports_images {
                    images.push(Part::image(media_type, data));
                    "[image: see the next message]"
                } else {
                    NO_IMAGES
                };
                text.push_str(if text.is_empty() { "" } else { "\n" });
                text.push_str(note);
            }
        }
        if text.trim().is_empty() {
            text = "(no output)".into();
        }
        if !caps.tool_calls {
            self.push(Wire::new("user", Content::of(vec![Part::text(format!("[result]\n{text}"))])));
            return;
        }
        let mut part = Part::text(text);
        if block.cache_mark && caps.explicit_cache {
            part = part.marked();
        }
        let mut wire = Wire::new("tool", Content::of(vec![part]));
        wire.tool_call_id = Some(self.ground.ids.wire(id).to_owned());
        self.wires.push(wire);
    }

    /// Adds a message: neighbours of one role become one.
    fn push(&mut self, wire: Wire) {
        if wire.content.is_empty() && wire.tool_calls.is_empty() {
            return;
        }
        let bridge = self.ground.target.caps.bridge_after_tool;
        match self.wires.last_mut() {
            Some(last) if last.role == wire.role && last.tool_calls.is_empty() => {
                last.content.append(wire.content);
                last.tool_calls = wire.tool_calls;
                for (key, value) in wire.more.iter() {
                    drop(last.more.set(key, value));
                }
            }
            Some(last) if last.role == "tool" && wire.role == "user" && bridge => {
                self.wires.push(Wire::new("assistant", Content::of(vec![Part::text(BRIDGE)])));
                self.wires.push(wire);
            }
            _ => self.wires.push(wire),
        }
    }

    fn content(&self, blocks: &[Block]) -> Content {
        Content::of(blocks.iter().map(|block| self.part(block)).collect())
    }

    /// A block of text or an image.
    fn part(&self, block: &Block) -> Part {
        let caps = &self.ground.target.caps;
        let part = match &block.kind {
            Kind::Text { text } => Part::text(text.as_str()),
            Kind::Image { media_type, data } if caps.supports_images => Part::image(media_type, data),
            Kind::Image { .. } => Part::text(NO_IMAGES),
            Kind::Thinking { .. } | Kind::ToolUse { .. } | Kind::ToolResult { .. } => Part::text(""),
        };
        if block.cache_mark && caps.explicit_cache { part.marked() } else { part }
    }
}

const NO_IMAGES: &str = "[an image is left out: the model takes none]";

fn text_of(blocks: &[Block]) -> String {
    let texts = blocks.iter().filter_map(|block| match &block.kind {
        Kind::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// A call's arguments as JSON text. What was no JSON is carried as a string in an object.
fn arguments(input: &Input) -> String {
    match input {
        Input::Object(json) => json.text().to_owned(),
        Input::Raw(text) => {
            let mut object = Object::default();
            drop(object.set("input_raw", text));
            object.text()
        }
    }
}
