//! Reading, writing and editing.

use super::*;
