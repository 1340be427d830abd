//! The place in a file that is most like a text that is not in it, and what differs.

use std::collections::HashMap;

use crate::text::cut;

/// Lines of a file that are compared; longer files are compared up to here.
const MAX_LINES: usize = 50_000;

/// Lines of the wanted text that are compared.
const MAX_WANTED: usize = 400;

/// Pairs of lines that are shown.
const SHOWN_LINES: usize = 12;

/// Characters of a line that are shown.
const SHOWN_CHARS: usize = 160;

/// Two lines are alike from this share of common pairs of characters on, in percent.
const ALIKE: usize = 50;

/// Says why `old` does not occur in `text`, for the model.
pub(crate) fn explain(text: &[u8], old: &str) -> String {
    let text = String::from_utf8_lossy(text);
    if let Some(plain) = without_numbers(old).filter(|plain| text.contains(plain.as_str())) {
        let first = plain.lines().next().unwrap_or_default();
        return format!(
            "'old' does not occur; leave out the line numbers that read shows (it starts with '{}')",
            cut(first, SHOWN_CHARS).0
        );
    }
    let file: Vec<&str> = lines(&text).take(MAX_LINES).collect();
    let wanted: Vec<&str> = lines(old).take(MAX_WANTED).collect();
    match nearest(&file, &wanted) {
        Some(start) => compare(&file, &wanted, start),
        None => "'old' does not occur, nor anything like it; read the file again".into(),
    }
}

/// Lines, carriage returns included.
fn lines(text: &str) -> std::str::Split<'_, char> {
    text.strip_suffix('\n').unwrap_or(text).split('\n')
}

/// `old` as it is in the file, when the model copied it with the numbers in front.
fn without_numbers(old: &str) -> Option<String> {
    let strip = |line: &str| {
        let rest = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
        rest.strip_prefix('\t').filter(|_| rest.len() < line.trim_start().len()).map(str::to_owned)
    };
    let lines: Option<Vec<String>> = old.lines().map(strip).collect();
    lines.filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n"))
}

/// The line of the file where the wanted text most likely starts. Each wanted line that occurs in the
/// file, apart from white space, votes for a start; rare lines count for more.
fn nearest(file: &[&str], wanted: &[&str]) -> Option<usize> {
    let mut at: HashMap<String, Vec<usize>> = HashMap::new();
    for (number, line) in file.iter().enumerate() {
        at.entry(squeezed(line)).or_default().push(number);
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (offset, line) in wanted.iter().enumerate() {
        let line = squeezed(line);
        let Some(places) = at.get(&line).filter(|_| !line.is_empty()) else { continue };
        let weight = 1 + line.len().min(80) / places.len();
        for place in places.iter().take(1000) {
            *votes.entry(place.saturating_sub(offset)).or_default() += weight;
        }
    }
    let best = votes.into_iter().max_by_key(|(start, votes)| (*votes, usize::MAX - start));
    best.map(|(start, _)| start).or_else(|| alike(file, wanted))
}

fn squeezed(line: &str) -> String {
    line.split_whitespace().collect()
}

/// By the longest wanted line and the line of the file that is most like it.
fn alike(file: &[&str], wanted: &[&str]) -> Option<usize> {
    let (offset, line) = wanted.iter().enumerate().max_by_key(|(_, line)| line.trim().len())?;
    let pairs = pairs_of(line);
    if pairs.is_empty() {
        return None;
    }
    let scored = file.iter().enumerate().map(|(number, other)| (likeness(&pairs, other), number));
    let (score, number) = scored.max_by_key(|(score, number)| (*score, usize::MAX - number))?;
    (score >= ALIKE).then(|| number.saturating_sub(offset))
}

type Pairs = HashMap<[u8; 2], usize>;

fn pairs_of(line: &str) -> Pairs {
    let mut pairs = Pairs::new();
    for pair in cut(line.trim(), SHOWN_CHARS).0.as_bytes().windows(2) {
        *pairs.entry([pair[0].to_ascii_lowercase(), pair[1].to_ascii_lowercase()]).or_default() += 1;
    }
    pairs
}

/// Share of common pairs of characters, in percent.
fn likeness(pairs: &Pairs, line: &str) -> usize {
    let other = pairs_of(line);
    let common: usize = pairs.iter().map(|(pair, n)| (*n).min(other.get(pair).copied().unwrap_or(0))).sum();
    let all = pairs.values().sum::<usize>() + other.values().sum::<usize>();
    (200 * common).checked_div(all).unwrap_or(0)
}

/// How alike two names are, in percent, without regard to case.
pub(crate) fn alike_names(one: &str, two: &str) -> usize {
    if one.eq_ignore_ascii_case(two) { 100 } else { likeness(&pairs_of(one), two) }
}

fn compare(file: &[&str], wanted: &[&str], start: usize) -> String {
    let there = &file[start..file.len().min(start + wanted.len())];
    let differ: Vec<usize> =
        (0..wanted.len()).filter(|i| there.get(*i).copied() != Some(wanted[*i])).collect();
    let lines = if there.len() > 1 {
        format!("lines {}-{}", start + 1, start + there.len())
    } else {
        format!("line {}", start + 1)
    };
    if differ.is_empty() {
        return format!("'old' does not occur; {lines} hold its lines, but the line end after them differs");
    }
    let mut out =
        format!("'old' does not occur; the nearest place is {lines}, which differ (- old, + file):");
    for i in differ.iter().take(SHOWN_LINES) {
        let (old, new) = (wanted[*i], there.get(*i).copied());
        let show = if new.is_some_and(|new| squeezed(new) == squeezed(old)) { visible } else { plain };
        out.push_str(&format!("\n{}\t- {}", start + i + 1, show(old)));
        if let Some(new) = new {
            out.push_str(&format!("\n{}\t+ {}", start + i + 1, show(new)));
        }
    }
    if differ.len() > SHOWN_LINES {
        out.push_str(&format!("\n[{} more lines differ]", differ.len() - SHOWN_LINES));
    }
    if differ.iter().any(|i| there.get(*i).is_some_and(|new| squeezed(new) == squeezed(wanted[*i]))) {
        out.push_str("\n(white space made visible: · space, → tab, ␍ carriage return)");
    }
    out
}

fn plain(line: &str) -> String {
    shortened(cut(line, SHOWN_CHARS).0, line)
}

fn visible(line: &str) -> String {
    let shown = cut(line, SHOWN_CHARS).0;
    let marked = shown.replace(' ', "·").replace('\t', "→").replace('\r', "␍").replace('\u{a0}', "⍽");
    shortened(&marked, if shown.len() < line.len() { line } else { &marked })
}

fn shortened(shown: &str, line: &str) -> String {
    if shown.len() < line.len() { format!("{shown}…") } else { shown.to_owned() }
}
