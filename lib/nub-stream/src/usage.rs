//! Token counts as servers name them, brought to the protocol's reading: input with its cached part, output
//! with its thinking.

use nub_proto::Usage;

use crate::lenient::{Count, Raw, lenient};

lenient! {
    /// A usage object.
    struct Counts<'a> {
        "prompt_tokens" => prompt: Count,
        "completion_tokens" => completion: Count,
        "total_tokens" => total: Count,
        "input_tokens" => input: Count,
        "output_tokens" => output: Count,
        "prompt_tokens_details" | "input_tokens_details" => prompt_details: Details<'a>,
        "completion_tokens_details" | "output_tokens_details" => completion_details: Details<'a>,
        "cached_tokens" => cached: Count,
        "prompt_cache_hit_tokens" => cache_hit: Count,
        "cache_read_input_tokens" => cache_read: Count,
        "cache_creation_input_tokens" => cache_creation: Count,
        "reasoning_tokens" => reasoning: Count,
    }

    /// The details of one side.
    struct Details<'a> {
        "cached_tokens" | "cache_read_tokens" => cached: Count,
        "cache_write_tokens" | "cache_creation_tokens" => written: Count,
        "reasoning_tokens" => reasoning: Count,
    }

    /// An object that holds a usage object.
    struct Holder<'a> {
        "usage" => usage: Raw<'a>,
    }
}

/// The counts of one answer: for each field the last number that is not zero.
#[derive(Debug, Default)]
pub struct Tally {
    usage: Usage,
}

impl Tally {
    /// Takes a usage object.
    pub fn add(&mut self, usage: Raw<'_>) {
        let Some(counts) = usage.and_then(|raw| serde_json::from_str::<Counts>(raw.get()).ok()) else {
            return;
        };
        let new = counts.usage();
        let into = &mut self.usage;
        for (old, new) in [
            (&mut into.input_tokens, new.input_tokens),
            (&mut into.output_tokens, new.output_tokens),
            (&mut into.cache_read_tokens, new.cache_read_tokens),
            (&mut into.cache_write_tokens, new.cache_write_tokens),
            (&mut into.reasoning_tokens, new.reasoning_tokens),
        ] {
            if new > 0 {
                *old = new;
            }
        }
    }

    /// Takes an object with a usage object inside.
    pub fn add_inner(&mut self, holder: Raw<'_>) {
        if let Some(holder) = holder.and_then(|raw| serde_json::from_str::<Holder>(raw.get()).ok()) {
            self.add(holder.usage);
        }
    }

    /// The counts, when there are any.
    pub fn usage(&self) -> Option<Usage> {
        Some(self.usage).filter(|usage| *usage != Usage::default())
    }
}

impl Counts<'_> {
    fn usage(&self) -> Usage {
        let first =
            |counts: &[Count]| counts.iter().filter_map(|count| count.0).find(|n| *n > 0).unwrap_or(0);
        let cache_read = first(&[self.prompt_details.cached, self.cache_read, self.cache_hit, self.cached]);
        let cache_write = first(&[self.prompt_details.written, self.cache_creation]);
        let reasoning = first(&[self.completion_details.reasoning, self.reasoning]);
        let prompt = first(&[self.prompt]);
        // Anthropic's own names leave the cached part out
        let native =
            first(&[self.input]).saturating_add(first(&[self.cache_read])).saturating_add(cache_write);
        let completion = first(&[self.completion, self.output]);
        // some count the thinking beside the answer: then only all three make the total (fixtures 163, 164)
        let beside = reasoning > 0
            && self.total.0 == Some(prompt.saturating_add(completion).saturating_add(reasoning));
        Usage {
            input_tokens: if prompt > 0 { prompt } else { native },
            output_tokens: if beside { completion.saturating_add(reasoning) } else { completion },
            cache_read_tokens: cache_read,
            cache_write_tokens: cache_write,
            reasoning_tokens: reasoning,
            estimated: false,
        }
    }
}
