//! Where the file tools work: the repo root as a directory handle, and what is denied in it.

use std::path::Path;

use nub_conf::Paths;

/// The one place the file tools reach.
pub(crate) struct Place {}

impl Place {
    /// Opens the root. `home` is the user's home folder, `deny` are the globs of `deny_paths`.
    ///
    /// # Errors
    /// The root cannot be opened, or a glob is none.
    pub(crate) fn open(_paths: &Paths, _home: Option<&Path>, _deny: &[String]) -> Result<Place, String> {
        Ok(Place {})
    }
}
