//! Links of a Markdown document, and the headings that others may lead to.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

/// Where the targets of its links and pictures stand in a text, in order: inline, by reference, and in HTML. Code has none.
pub(crate) fn targets(text: &str) -> Vec<Range<usize>> {
    let prose = prose(text);
    let mut found = definitions(&prose);
    for (before, after) in [("](", &[')', ' '][..]), ("href=\"", &['"']), ("src=\"", &['"'])] {
        let mut start = 0;
        while let Some(place) = prose[start..].find(before) {
            let range = target(&prose, start + place + before.len(), after);
            start = range.end;
            found.push(range);
        }
    }
    found.retain(|range| !range.is_empty());
    found.sort_by_key(|range| range.start);
    // One that starts inside of another is a part of it.
    let mut end = 0;
    found.retain(|range| {
        let is_apart = range.start >= end;
        end = end.max(range.end);
        is_apart
    });
    found
}

/// The target that starts there; `after` ends one without angle brackets.
fn target(prose: &str, start: usize, after: &[char]) -> Range<usize> {
    let is_in_brackets = prose[start..].starts_with('<');
    let start = start + usize::from(is_in_brackets);
    let rest = &prose[start..];
    let is_end = |c: char| c == '\n' || c == '>' || (!is_in_brackets && after.contains(&c));
    start..start + rest.find(is_end).unwrap_or(rest.len())
}

/// The targets of lines such as `[name]: target "title"`, which stand in no paragraph. Footnotes and other prose have none.
fn definitions(prose: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut start, mut is_in_paragraph) = (0, false);
    for line in prose.split_inclusive('\n') {
        let range = defined(line).filter(|_| !is_in_paragraph);
        is_in_paragraph = range.is_none() && !line.trim().is_empty() && !line.starts_with('#');
        found.extend(range.map(|range| start + range.start..start + range.end));
        start += line.len();
    }
    found
}

fn defined(line: &str) -> Option<Range<usize>> {
    let (name, rest) = line.trim_start_matches([' ', '>']).strip_prefix('[')?.split_once("]:")?;
    let range = target(line, line.len() - rest.trim_start().len(), &[' ']);
    let title = line[range.end..].trim_start_matches('>').trim_start();
    let is_name = !name.is_empty() && !name.starts_with('^') && !name.contains(['[', ']']);
    (is_name && (title.is_empty() || title.starts_with(['"', '\'', '(']))).then_some(range)
}

/// Its lines, and whether each is of a block of code.
fn lines(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut fence: Option<String> = None;
    text.split_inclusive('\n').map(move |line| {
        let mark: String = line.trim_start().chars().take_while(|c| "`~".contains(*c)).collect();
        let is_fence = mark.len() >= 3;
        let inside = fence.is_some();
        match &fence {
            Some(open) if mark.starts_with(open.as_str()) => fence = None,
            None if is_fence => fence = Some(mark),
            _ => {}
        }
        (line, inside || is_fence)
    })
}

/// The text with blanks, byte for byte, where code stands.
fn prose(text: &str) -> String {
    let of_line = |(line, is_code)| if is_code { blank(line) } else { without_code(line) };
    lines(text).map(of_line).collect()
}

fn without_code(line: &str) -> String {
    let parts: Vec<_> = line.split('`').collect();
    let last = parts.len() - 1;
    let part = |(place, part): (usize, &&str)| match place % 2 == 1 && place < last {
        true => blank(part),
        false => (*part).to_owned(),
    };
    parts.iter().enumerate().map(part).collect::<Vec<_>>().join("`")
}

fn blank(text: &str) -> String {
    text.chars().map(|c| if c == '\n' { "\n".into() } else { " ".repeat(c.len_utf8()) }).collect()
}

/// The text with other targets; those for which there is none stay.
pub(crate) fn led_elsewhere(text: &str, to: impl Fn(&str) -> Option<String>) -> String {
    let mut new = String::new();
    let mut end = 0;
    for range in targets(text) {
        new += &text[end..range.start];
        let target = &text[range.clone()];
        new += &to(target).unwrap_or_else(|| target.to_owned());
        end = range.end;
    }
    new + &text[end..]
}

/// Path and heading of a target that is a file's; none where it leads to another place of the world.
pub(crate) fn local(target: &str) -> Option<(String, Option<String>)> {
    let scheme = target.split(':').next().filter(|scheme| scheme.len() < target.len());
    if scheme.is_some_and(|scheme| {
        scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    }) {
        return None;
    }
    let (path, heading) = match target.split_once('#') {
        Some((path, heading)) => (path, Some(heading)),
        None => (target, None),
    };
    Some((decoded(path), heading.map(decoded)))
}

/// With the bytes that `%` and two digits stand for; as it is where these are no text.
fn decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.get(..2).and_then(|digits| hex::decode(digits).ok()) {
            Some(byte) => bytes.extend([&byte, &part.as_bytes()[2..]].concat()),
            None => bytes.extend([b"%", part.as_bytes()].concat()),
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// Where a path leads from a folder; none where that is out of the top.
pub(crate) fn resolved(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    (!path.starts_with('/')).then(|| parts.join("/"))
}

/// The names of a document's headings and anchors, as they stand in links; that of its start is empty.
pub(crate) fn headings(text: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut names = BTreeSet::from([String::new()]);
    let mut before = "";
    for (line, is_code) in lines(text) {
        let line = if is_code { "" } else { line.trim_end() };
        for mark in [" id=\"", " name=\""] {
            let rest = line.split(mark).skip(1);
            names.extend(rest.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())));
        }
        let text = line.trim_start_matches('#');
        let is_rule = ["=", "-"].iter().any(|c| line.trim_start_matches(c).is_empty());
        let heading = match line {
            _ if text.len() < line.len() && text.starts_with(' ') => text,
            // Underlined.
            _ if is_rule && !line.is_empty() => before,
            _ => "",
        };
        before = line;
        if heading.is_empty() {
            continue;
        }
        let kept = heading.trim_end_matches('#').trim().to_lowercase().replace(' ', "-");
        let name: String =
            kept.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect();
        let before = seen.entry(name.clone()).or_default();
        names.insert(if *before == 0 { name } else { format!("{name}-{before}") });
        *before += 1;
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_where_they_are_links() {
        let text = "# A `b` c\n[a](x.md#y \"t\") ![b](<p q.svg>) `[no](no)` [r]\n\n```md\n[no](no)\n# no\n```\n\
                    [r]: z.md\n<a href=\"h.md\">[`code`](c.md)\n## A b, c\n";
        let found: Vec<_> = targets(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["x.md#y", "p q.svg", "z.md", "h.md", "c.md"]);
        assert_eq!(headings(text), ["", "a-b-c", "a-b-c-1"].map(String::from).into());
        let new = led_elsewhere(text, |target| (target == "c.md").then(|| "d.md".into()));
        assert_eq!(new, text.replace("c.md", "d.md"));
    }

    #[test]
    fn what_only_looks_like_a_definition_is_prose() {
        let prose = "values in the range [0, 1]: clipped\n\n[^1]: see\n\n[1]: Smith et al.\n\nin\n[0]: clipped\n";
        assert_eq!(targets(prose), []);
        let text = "[a]: b.md\n> [c]: <d e.md> (f)\n\n[^1]: see [g](h.md)\n";
        let found: Vec<_> = targets(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["b.md", "d e.md", "h.md"]);
    }

    #[test]
    fn headings_may_be_underlined_and_anchors_named() {
        let text = "A b\n===\n\nC\n---\n\n---\n<a id=\"d\"></a><a name=\"E\">\n~~~\nno\n---\n~~~\n### f ###\n";
        let names = headings(text);
        assert_eq!(names, ["", "E", "a-b", "c", "d", "f"].map(String::from).into());
    }

    #[test]
    fn many_marks_take_no_longer_than_the_text() {
        assert_eq!(targets(&"](".repeat(500_000)).len(), 1);
    }

    #[test]
    fn a_target_inside_of_another_is_none() {
        for text in ["[a](b](c) d", "[r]: [t](u)", "![a](<b href=\"c\"> d)"] {
            assert_eq!(led_elsewhere(text, |target| Some(target.to_owned())), text);
        }
    }

    #[test]
    fn targets_lead_from_a_folder() {
        assert_eq!(local("https://x.y/z"), None);
        assert_eq!(local("mailto:a@b"), None);
        assert_eq!(local("a%20b.md#c"), Some(("a b.md".into(), Some("c".into()))));
        assert_eq!(local("m%C3%bc.md#%c3%9f"), Some(("mü.md".into(), Some("ß".into()))));
        assert_eq!(local("100%.md"), Some(("100%.md".into(), None)));
        assert_eq!(local("%ff%+f"), Some(("%ff%+f".into(), None)));
        assert_eq!(resolved("docs", "../proto/./a.proto"), Some("proto/a.proto".into()));
        assert_eq!(resolved("docs", "../../a"), None);
        assert_eq!(resolved("docs", "/a"), None);
    }
}
