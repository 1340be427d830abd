//! From files, environment and flags to the effective configuration.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::class::nearest_word;
use crate::layer::{Field, Layer, Origin, Origins, Place, Voice, shown};
use crate::registry::known_endpoints;
use crate::{Config, Paths};

/// The largest file that is read, in bytes.
const LARGEST: u64 = 1 << 20;
/// The most keys that one warning names.
const NAMED: usize = 12;

/// What was typed.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// `-C`: work there instead of in the current folder.
    pub cwd: Option<PathBuf>,
    /// `--config`: read this file instead of the user's.
    pub config: Option<PathBuf>,
    /// `--profile`.
    pub profile: Option<String>,
}

/// The configuration and where it came from.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The effective values.
    pub config: Config,
    /// Where things are.
    pub paths: Paths,
    /// What the user should know.
    pub warnings: Vec<Notice>,
    /// Where each key that is no default was set.
    pub origins: Origins,
    /// The files that were read, in order.
    pub files: Vec<PathBuf>,
    /// The profile in force; `default` when none was named.
    pub profile: String,
}

/// Something the user should know that ends nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// A word for programs.
    pub code: &'static str,
    /// One line for people.
    pub message: String,
}

/// Why there is no configuration. Its text names file, line, column and the nearest valid key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfError {
    message: String,
}

impl ConfError {
    pub(crate) fn new(message: impl Into<String>) -> ConfError {
        ConfError { message: message.into() }
    }
}

impl fmt::Display for ConfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConfError {}

/// Reads every layer.
///
/// # Errors
/// A file of the user's that cannot be read, an unknown key, a wrong type or value, a name of an
/// endpoint or profile that does not exist. What a repository brings is never an error.
pub fn load(inputs: &Inputs) -> Result<Loaded, ConfError> {
    let paths = Paths::find(folder(inputs)?, |name| std::env::var_os(name).map(PathBuf::from))?;
    let mut loaded = Loaded {
        config: Config::default(),
        paths,
        warnings: Vec::new(),
        origins: Origins::new(),
        files: Vec::new(),
        profile: String::new(),
    };
    // a program hands the file it was given on to its stages in NUB_CONFIG
    let named = std::env::var_os("NUB_CONFIG").filter(|name| !name.is_empty()).map(PathBuf::from);
    user_file(&mut loaded, inputs.config.as_deref().or(named.as_deref()))?;
    repo_file(&mut loaded);
    let profile = environment(&mut loaded, std::env::vars_os())?;
    loaded.profile = inputs.profile.clone().or(profile).unwrap_or_else(|| "default".into());
    names(&loaded)?;
    Ok(loaded)
}

fn folder(inputs: &Inputs) -> Result<PathBuf, ConfError> {
    let cwd = match &inputs.cwd {
        Some(cwd) => cwd.clone(),
        None => std::env::current_dir().map_err(|e| ConfError::new(format!("no current folder: {e}")))?,
    };
    let refuse = |e: &dyn fmt::Display| ConfError::new(format!("cannot enter '{}': {e}", cwd.display()));
    let real = cwd.canonicalize().map_err(|e| refuse(&e))?;
    if real.is_dir() { Ok(real) } else { Err(refuse(&"it is no folder")) }
}

/// A user's file is read through links and pipes, as the user may have set them up.
pub(crate) fn user_file(loaded: &mut Loaded, named: Option<&Path>) -> Result<(), ConfError> {
    let path =
        named.map_or_else(|| loaded.paths.config.join("config.toml"), |path| loaded.paths.cwd_of(path));
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound && named.is_none() => return Ok(()),
        Err(e) if e.kind() == io::ErrorKind::NotADirectory && named.is_none() => return Ok(()),
        Err(e) => return Err(ConfError::new(format!("cannot read '{}': {e}", path.display()))),
    };
    let text = text_of(file).map_err(|e| ConfError::new(format!("cannot read '{}': {e}", path.display())))?;
    let (faults, _) = lay_file(loaded, &path, &text, Voice::User);
    loaded.files.push(path);
    faults.into_iter().next().map_or(Ok(()), |fault| Err(ConfError::new(fault)))
}

/// A repository's file must be a plain one at its place; whatever is wrong with it is a warning.
pub(crate) fn repo_file(loaded: &mut Loaded) {
    let folder = loaded.paths.dot_nub();
    let path = folder.join("config.toml");
    let Ok(meta) = fs::symlink_metadata(&path) else { return };
    let linked = fs::symlink_metadata(&folder).is_ok_and(|meta| meta.is_symlink());
    let text = if linked || !meta.is_file() {
        Err("it is no plain file".to_owned())
    } else {
        File::open(&path).map_err(|e| e.to_string()).and_then(text_of)
    };
    let name = shown(&path.to_string_lossy());
    let text = match text {
        Ok(text) => text,
        Err(e) => {
            return loaded
                .warnings
                .push(Notice { code: "repo_config", message: format!("'{name}' is ignored: {e}") });
        }
    };
    let (faults, mut ignored) = lay_file(loaded, &path, &text, Voice::Repo);
    loaded.files.push(path);
    if let Some(first) = faults.first() {
        let more = if faults.len() > 1 { format!(" (and {} more)", faults.len() - 1) } else { String::new() };
        loaded.warnings.push(Notice { code: "repo_config", message: format!("ignored: {first}{more}") });
    }
    ignored.sort();
    ignored.dedup();
    if !ignored.is_empty() {
        let more = ignored.len().saturating_sub(NAMED);
        ignored.truncate(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        loaded.warnings.push(Notice {
            code: "untrusted_keys",
            message: format!("'{name}' may not set {}{more}: ignored", ignored.join(", ")),
        });
    }
}

/// The text of a configuration file, without a byte order mark.
fn text_of(file: File) -> Result<String, String> {
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    if bytes.len() as u64 > LARGEST {
        return Err(format!("it is larger than {} KiB", LARGEST >> 10));
    }
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
    String::from_utf8(bytes.to_vec()).map_err(|_| "it is no UTF-8 text".to_owned())
}

/// Lays a file. Returns its faults with their places, first things first, and the keys that its voice
/// may not set.
fn lay_file(loaded: &mut Loaded, path: &Path, text: &str, voice: Voice) -> (Vec<String>, Vec<String>) {
    let place = Place::File(path, text);
    let at = |(offset, reason): &(usize, String)| format!("{}: {reason}", place.origin(*offset));
    let document = match DeTable::parse(text) {
        Ok(document) => document,
        Err(e) => {
            let offset = e.span().map_or(0, |span| span.start);
            return (vec![at(&(offset, e.message().replace('\n', ", ")))], Vec::new());
        }
    };
    if let Some(fault) = version(document.get_ref()) {
        return (vec![at(&fault)], Vec::new());
    }
    let mut layer = Layer::new(place, voice, &mut loaded.origins);
    layer.keys(&mut loaded.config, document.get_ref());
    let (mut faults, ignored) = (layer.faults, layer.ignored);
    faults.sort();
    // only these are shown, so only these get a place
    (faults.iter().map(at).take(NAMED).collect(), ignored)
}

/// A later format is told apart before its keys are judged.
fn version(document: &DeTable) -> Option<(usize, String)> {
    let value = document.get("version")?;
    let known = Config::default().version;
    match u64::read(value.get_ref()) {
        Ok(version) if version == known => None,
        Ok(version) => Some((
            value.span().start,
            format!("version {version} of the format; this nub knows version {known}"),
        )),
        Err(reason) => Some((value.span().start, format!("version {reason}"))),
    }
}

/// Lays `NUB_*` variables. Returns the profile they name.
pub(crate) fn environment(
    loaded: &mut Loaded,
    all: impl Iterator<Item = (std::ffi::OsString, std::ffi::OsString)>,
) -> Result<Option<String>, ConfError> {
    let mut profile = None;
    let mut found = Vec::new();
    for (name, value) in all {
        let Some(name) = name.to_str().filter(|name| name.starts_with("NUB_")) else { continue };
        let key = match name {
            "NUB_MODEL" => "model.default".to_owned(),
            "NUB_ENDPOINT" => "model.endpoint".to_owned(),
            "NUB_PROFILE" => String::new(),
            _ => match name["NUB_".len()..].split_once("__") {
                Some((section, key)) => format!("{}.{}", section.to_lowercase(), key.to_lowercase()),
                None => continue,
            },
        };
        let Some(value) = value.to_str() else {
            return Err(ConfError::new(format!("{name}: its value is no UTF-8 text")));
        };
        // the short names win over the long ones, whatever order the environment has
        let rank = u8::from(!name.contains("__"));
        match (value.is_empty(), key.is_empty()) {
            (true, _) => {}
            (false, true) => profile = Some(value.to_owned()),
            (false, false) => found.push((rank, name.to_owned(), key, value.to_owned())),
        }
    }
    found.sort();
    for (_, name, key, value) in &found {
        variable(loaded, name, key, value)?;
    }
    Ok(profile)
}

fn variable(loaded: &mut Loaded, name: &str, key: &str, value: &str) -> Result<(), ConfError> {
    let Some((section, key)) = key.split_once('.') else { return Ok(()) };
    let spanned = |text: &str| Spanned::new(0..0, std::borrow::Cow::Owned(text.to_owned()));
    let mut inner = DeTable::new();
    inner.insert(spanned(key), Spanned::new(0..0, DeValue::String(value.to_owned().into())));
    let mut table = DeTable::new();
    table.insert(spanned(section), Spanned::new(0..0, DeValue::Table(inner)));
    let mut layer = Layer::new(Place::Env(name), Voice::User, &mut loaded.origins);
    layer.keys(&mut loaded.config, &table);
    match layer.faults.into_iter().next() {
        Some((_, reason)) => Err(ConfError::new(format!("{}: {reason}", shown(name)))),
        None => Ok(()),
    }
}

/// Names that refer to something must find it.
pub(crate) fn names(loaded: &Loaded) -> Result<(), ConfError> {
    let Loaded { config, origins, profile, .. } = loaded;
    let missing = |what: &str, name: &str, place: Option<&Origin>, valid: &mut dyn Iterator<Item = &str>| {
        let place = place.map(|place| format!("{place}: ")).unwrap_or_default();
        let hint = nearest_word(name, valid).map(|name| format!("; did you mean '{name}'?"));
        ConfError::new(format!("{place}there is no {what} '{}'{}", shown(name), hint.unwrap_or_default()))
    };
    let endpoint = &config.model.endpoint;
    if !endpoint.is_empty() && config.endpoint(endpoint).is_none() {
        let own = config.endpoints.iter().map(|endpoint| endpoint.name.as_str());
        let known = known_endpoints().iter().map(|known| known.name.as_str());
        let place = origins.get("model.endpoint");
        return Err(missing("endpoint", endpoint, place, &mut own.chain(known)));
    }
    if profile != "default" && !config.profiles.contains_key(profile) {
        return Err(missing("profile", profile, None, &mut config.profiles.keys().map(String::as_str)));
    }
    Ok(())
}
