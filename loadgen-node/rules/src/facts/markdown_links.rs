//! Links of a Markdown document, and the headings that others may lead to.

use std::{collections::BTreeMap, ops::Range};

/// Where the targets of its links and pictures stand in a text, in order: inline, by reference, and in HTML. Code has none.
pub(crate) fn targets(text: &str) -> Vec<Range<usize>> {
    let prose = prose(text);
    let mut found = Vec::new();
    for (before, after) in
        [("](", [')', ' ']), ("]: ", ['\n', ' ']), ("href=\"", ['"'; 2]), ("src=\"", ['"'; 2])]
    {
        for (place, _) in prose.match_indices(before) {
            let start = place + before.len();
            let is_in_brackets = prose[start..].starts_with('<');
            let start = start + usize::from(is_in_brackets);
            let rest = &prose[start..];
            let is_end = |c: char| c == '\n' || c == '>' || (!is_in_brackets && after.contains(&c));
            let length = rest.find(is_end);
            found.push(start..start + length.unwrap_or(rest.len()));
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

/// The text with blanks, byte for byte, where code stands.
fn prose(text: &str) -> String {
    let mut fence: Option<String> = None;
    let mut prose = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let mark: String = line.trim_start().chars().take_while(|c| "`~".contains(*c)).collect();
        let is_fence = mark.len() >= 3;
        let inside = fence.is_some();
        match &fence {
            Some(open) if mark.starts_with(open.as_str()) => fence = None,
            None if is_fence => fence = Some(mark),
            _ => {}
        }
        if inside || is_fence {
            prose.push_str(&blank(line));
        } else {
            prose.push_str(&without_code(line));
        }
    }
    prose
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
pub(crate) fn local(target: &str) -> Option<(String, Option<&str>)> {
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
    Some((path.replace("%20", " "), heading))
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

/// The names of a document's headings, as they stand in links.
pub(crate) fn headings(text: &str) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut inside = false;
    let mut names = Vec::new();
    for line in text.lines() {
        inside ^= line.trim_start().starts_with("```");
        let heading = line.trim_start_matches('#');
        if inside || heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let kept = heading.trim().to_lowercase().replace(' ', "-");
        let name: String =
            kept.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect();
        let before = seen.entry(name.clone()).or_default();
        names.push(if *before == 0 { name } else { format!("{name}-{before}") });
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
        assert_eq!(headings(text), ["a-b-c", "a-b-c-1"]);
        let new = led_elsewhere(text, |target| (target == "c.md").then(|| "d.md".into()));
        assert_eq!(new, text.replace("c.md", "d.md"));
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
        assert_eq!(local("a%20b.md#c"), Some(("a b.md".into(), Some("c"))));
        assert_eq!(resolved("docs", "../proto/./a.proto"), Some("proto/a.proto".into()));
        assert_eq!(resolved("docs", "../../a"), None);
        assert_eq!(resolved("docs", "/a"), None);
    }
}
