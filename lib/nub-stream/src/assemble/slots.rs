//! The calls of an answer while they arrive: which fragment belongs to which call, and when a call can start.

use nub_proto::ErrorClass;

use super::arguments::Arguments;
use super::ballast::Ballast;
use crate::failure::Failure;

/// The most calls one answer may hold.
const MAX_CALLS: usize = 1024;

/// A fragment of a call, as the server sent it.
#[derive(Debug)]
pub struct Fragment<'a> {
    /// Which call, if the server says so.
    pub index: Option<u64>,
    /// Empty when there is none.
    pub id: &'a str,
    /// The name or a piece of it, empty when there is none.
    pub name: &'a str,
    /// Argument text.
    pub arguments: &'a str,
    /// Where it stands.
    pub place: Place,
}

/// Where a fragment stands in its chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The first, or the only one.
    First,
    /// Behind another one.
    Later,
    /// In a whole message: it is no fragment.
    Whole,
}

/// One call.
#[derive(Debug, Default)]
pub struct Slot {
    index: Option<u64>,
    /// The id the server gave it, empty when it gave none.
    pub id: String,
    /// The name so far.
    pub name: String,
    /// The arguments so far.
    pub arguments: Arguments,
    /// What has to go back with it.
    pub ballast: Ballast,
    /// Its block, once it has started.
    pub block: Option<usize>,
    /// The name came once more behind complete arguments: what follows may be another call.
    named_again: bool,
}

/// All calls, in order of appearance.
#[derive(Debug)]
pub struct Slots {
    slots: Vec<Slot>,
    tools: Vec<String>,
}

enum Owner {
    Old(usize),
    New,
}

impl Slots {
    /// No calls yet, of tools with these names.
    pub fn new(tools: Vec<String>) -> Slots {
        Slots { slots: Vec::new(), tools }
    }

    /// The calls.
    pub fn as_mut(&mut self) -> &mut [Slot] {
        &mut self.slots
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Refuses more calls than anybody means.
    pub fn limit(&self) -> Result<(), Failure> {
        if self.slots.len() <= MAX_CALLS {
            return Ok(());
        }
        Err(Failure::new(ErrorClass::Limit, format!("the answer holds more than {MAX_CALLS} tool calls")))
    }

    /// Gives up the calls.
    pub fn take(&mut self) -> Vec<Slot> {
        std::mem::take(&mut self.slots)
    }

    /// Whether calls of this name were offered.
    pub fn knows(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool == name)
    }

    /// Adds a fragment to the call it belongs to. `None` when it holds nothing and belongs to none.
    pub fn add(&mut self, fragment: &Fragment<'_>) -> Option<usize> {
        let at = match self.owner(fragment) {
            Owner::Old(at) => at,
            Owner::New
                if fragment.id.is_empty()
                    && fragment.name.is_empty()
                    && fragment.arguments.trim().is_empty() =>
            {
                return None;
            }
            Owner::New => self.push(fragment),
        };
        let known = !fragment.name.is_empty() && self.knows(&self.slots[at].name);
        let slot = &mut self.slots[at];
        if slot.id.is_empty() {
            slot.id = fragment.id.to_owned();
        }
        slot.add_name(fragment.name, known);
        if slot.arguments.is_settled() {
            slot.named_again = !fragment.name.is_empty() && fragment.arguments.trim().is_empty();
        }
        slot.arguments.push(fragment.arguments);
        Some(at)
    }

    fn push(&mut self, fragment: &Fragment<'_>) -> usize {
        let mut slot = Slot { index: fragment.index, ..Slot::default() };
        if let Some(old) = self.slots.iter_mut().rev().find(|old| old.named_again && old.index == slot.index)
        {
            old.named_again = false;
            if fragment.name.is_empty() {
                slot.name.clone_from(&old.name);
            }
        }
        self.slots.push(slot);
        self.slots.len() - 1
    }

    /// How many calls at the head of the list can start: those that are known and whose arguments flow,
    /// with all that stand before them.
    pub fn ready(&self) -> usize {
        let flowing = self.slots.iter().rposition(|slot| slot.block.is_none() && self.flows(slot));
        let until = flowing.map_or(0, |at| at + 1);
        self.slots[..until]
            .iter()
            .position(|slot| slot.block.is_none() && !self.flows(slot) && !self.knows(&slot.name))
            .unwrap_or(until)
    }

    /// Whether a call waits for its start.
    pub fn waiting(&self) -> bool {
        self.slots.iter().any(|slot| slot.block.is_none() && !slot.name.is_empty())
    }

    fn flows(&self, slot: &Slot) -> bool {
        !slot.name.is_empty()
            && (slot.arguments.is_settled() || (slot.arguments.flows() && self.knows(&slot.name)))
    }

    fn owner(&self, fragment: &Fragment<'_>) -> Owner {
        if fragment.place == Place::Whole {
            return Owner::New;
        }
        let used = |at: usize| if self.opens_another(at, fragment) { Owner::New } else { Owner::Old(at) };
        let by_index = fragment.index.and_then(|i| self.slots.iter().rposition(|slot| slot.index == Some(i)));
        let by_id = self.by_id(fragment.id);
        if let Some(at) = by_index {
            // some servers give every call the same index, and the id tells
            return used(by_id.unwrap_or(at));
        }
        if let Some(at) = by_id {
            // one call under many indices, or two calls of one id
            let numbered = fragment.index.is_some() && !fragment.name.is_empty();
            return if numbered && !self.slots[at].is_resent(fragment) { Owner::New } else { used(at) };
        }
        let Some(last) = self.slots.len().checked_sub(1) else {
            return Owner::New;
        };
        match (fragment.index, fragment.id.is_empty(), fragment.name.is_empty()) {
            (Some(_), true, true) if self.slots[last].arguments.is_settled() => Owner::New,
            (Some(_), true, true) | (None, _, true) => Owner::Old(last),
            (Some(_), ..) => Owner::New,
            (None, _, false) => self.unnumbered(last, fragment),
        }
    }

    fn by_id(&self, id: &str) -> Option<usize> {
        if id.is_empty() { None } else { self.slots.iter().rposition(|slot| slot.id == id) }
    }

    /// A fragment with a name, without an index, whose id is new or missing.
    fn unnumbered(&self, last: usize, fragment: &Fragment<'_>) -> Owner {
        let slot = &self.slots[last];
        let continues = if fragment.place == Place::Later {
            false
        } else if !fragment.id.is_empty() {
            slot.id.is_empty() && slot.name == fragment.name && slot.arguments.is_empty()
        } else if slot.arguments.is_settled() {
            slot.name == fragment.name && !slot.arguments.differs(fragment.arguments)
        } else {
            slot.name == fragment.name || !(self.knows(&slot.name) && self.knows(fragment.name))
        };
        if continues { Owner::Old(last) } else { Owner::New }
    }

    /// Whether a fragment under a used index, or with a used id, is nevertheless another call.
    fn opens_another(&self, at: usize, fragment: &Fragment<'_>) -> bool {
        let slot = &self.slots[at];
        let begins = fragment.id.is_empty() && fragment.arguments.trim_start().starts_with('{');
        if fragment.name.is_empty() {
            return slot.named_again && begins;
        }
        if !fragment.id.is_empty() && !slot.id.is_empty() && fragment.id != slot.id {
            return true;
        }
        let renamed = fragment.name != slot.name && (self.knows(&slot.name) || self.knows(fragment.name));
        if renamed && slot.arguments.is_closed() {
            return true;
        }
        // complete arguments once more are a repetition, other ones another call
        slot.arguments.is_settled()
            && (slot.arguments.differs(fragment.arguments)
                || (begins && slot.id.is_empty() && !slot.is_resent(fragment)))
    }
}

impl Slot {
    /// Whether a fragment repeats the whole call.
    fn is_resent(&self, fragment: &Fragment<'_>) -> bool {
        self.name == fragment.name
            && self.arguments.is_complete()
            && self.arguments.equals(fragment.arguments)
    }

    fn add_name(&mut self, name: &str, known: bool) {
        let name = name.trim();
        if self.block.is_some() || name.is_empty() || name == self.name {
            return;
        }
        if name.starts_with(&self.name) {
            name.clone_into(&mut self.name);
        } else if !known {
            self.name.push_str(name);
        }
    }
}
