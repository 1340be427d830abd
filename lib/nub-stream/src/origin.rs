//! Where a block's ballast came from. It is sent back only there: `raw` is
//! `{"endpoint":...,"model":...,"data":...}`, and `data` keeps the bytes that the server sent.

use nub_proto::Json;
use serde::{Deserialize, Serialize};

use crate::target::Target;

/// An endpoint and a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    endpoint: String,
    model: String,
}

#[derive(Serialize, Deserialize)]
struct Marked {
    #[serde(flatten)]
    origin: Origin,
    data: Json,
}

impl Origin {
    /// Where a request to this target goes.
    #[must_use]
    pub fn of(target: &Target) -> Origin {
        Origin { endpoint: target.endpoint.name.clone(), model: target.model.clone() }
    }

    /// Ballast that came from here.
    #[must_use]
    pub fn mark(&self, data: Json) -> Json {
        let marked = Marked { origin: self.clone(), data };
        Json::of(&marked).unwrap_or(marked.data)
    }

    /// What ballast holds, when it came from here.
    #[must_use]
    pub fn open(&self, raw: &Json) -> Option<Json> {
        // read through a plain struct: flattening would lose the bytes of `data`
        #[derive(Deserialize)]
        struct Plain {
            endpoint: String,
            model: String,
            data: Json,
        }
        let plain: Plain = raw.read().ok()?;
        (plain.endpoint == self.endpoint && plain.model == self.model).then_some(plain.data)
    }
}
