//! Links of a Markdown document, and the headings that links may target.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Starts of HTML attributes whose value is the target of a link.
const TARGETS: [&str; 2] = ["href=\"", "src=\""];
/// Starts of HTML attributes whose value is an anchor, a name that links may target.
const ANCHORS: [&str; 2] = [" id=\"", " name=\""];

/// Lists the targets of links and images, in document order: inline, by reference, and in HTML.
/// Code has no links.
pub(crate) fn targets(text: &str) -> Vec<&str> {
    ranges(text).into_iter().map(|range| &text[range]).collect()
}

/// Returns the byte ranges of all link targets in a text, in document order.
fn ranges(text: &str) -> Vec<Range<usize>> {
    let parser = Parser::new_ext(text, Options::ENABLE_FOOTNOTES);
    let definitions = parser.reference_definitions().iter().map(|(_, definition)| {
        // The name in a definition precedes the target.
        let start = definition.span.start + text[definition.span.clone()].find("]:").unwrap_or(0);
        (start..definition.span.end, definition.dest.to_string())
    });
    let mut found: Vec<_> =
        definitions.filter_map(|(element, target)| target_range(text, element, &target)).collect();
    for (event, element) in parser.into_offset_iter() {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                let inner = &text[element.clone()];
                let start = element.start + inner.rfind("](").unwrap_or(0);
                found.extend(target_range(text, start..element.end, &dest_url));
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                let values = attributes(&html, &TARGETS);
                found.extend(
                    values.map(|value| element.start + value.start..element.start + value.end),
                );
            }
            _ => {}
        }
    }
    found.retain(|range| !range.is_empty());
    found.sort_by_key(|range| range.start);
    // A range inside another one is a part of the same target.
    let mut end = 0;
    found.retain(|range| {
        range.start >= end && {
            end = range.end;
            true
        }
    });
    found
}

/// Returns the byte range of `target` in the text of a link, whose range is `element`. Returns
/// `None` if the link writes the target in another form, such as by reference.
fn target_range(text: &str, element: Range<usize>, target: &str) -> Option<Range<usize>> {
    let start = element.start + text[element].find(target)?;
    Some(start..start + target.len())
}

/// Returns the byte ranges of attribute values in a piece of HTML. `names` are the starts of the
/// attributes.
fn attributes(html: &str, names: &'static [&str]) -> impl Iterator<Item = Range<usize>> {
    names.iter().flat_map(move |name| {
        html.match_indices(name).map(move |(place, _)| {
            let start = place + name.len();
            start..start + html[start..].find('"').unwrap_or(html.len() - start)
        })
    })
}

/// Replaces each link target in a text by the result of `to`; a target for which `to` returns
/// `None` stays.
pub(crate) fn replace_targets(text: &str, to: impl Fn(&str) -> Option<String>) -> String {
    let mut new = String::new();
    let mut end = 0;
    for range in ranges(text) {
        new += &text[end..range.start];
        let target = &text[range.clone()];
        new += &to(target).unwrap_or_else(|| target.to_owned());
        end = range.end;
    }
    new + &text[end..]
}

/// Returns path and heading of a target that is a file; `None` if the target is a URL with a
/// scheme.
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

/// Decodes `%` and two digits into bytes; returns the text unchanged if the result is not UTF-8.
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

/// Resolves `path`, which is relative to `folder`, into a path from the top folder. Returns `None`
/// if `path` is absolute or leaves the top folder.
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

/// Lists the names of a document's headings and anchors, as used in links. The start of the
/// document has the empty name.
pub(crate) fn headings(text: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut names = BTreeSet::from([String::new()]);
    let mut heading: Option<String> = None;
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(part) | Event::Code(part) => {
                heading.iter_mut().for_each(|heading| *heading += &part);
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                names.extend(attributes(&html, &ANCHORS).map(|value| html[value].to_owned()));
            }
            Event::End(TagEnd::Heading(_)) => {
                let heading = heading.take().unwrap_or_default().to_lowercase().replace(' ', "-");
                let is_kept = |c: &char| c.is_alphanumeric() || "-_".contains(*c);
                let name: String = heading.chars().filter(is_kept).collect();
                let before = seen.entry(name.clone()).or_default();
                names.insert(if *before == 0 { name } else { format!("{name}-{before}") });
                *before += 1;
            }
            _ => {}
        }
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
        assert_eq!(targets(text), ["x.md#y", "p q.svg", "z.md", "h.md", "c.md"]);
        assert_eq!(headings(text), ["", "a-b-c", "a-b-c-1"].map(String::from).into());
        let new = replace_targets(text, |target| (target == "c.md").then(|| "d.md".into()));
        assert_eq!(new, text.replace("c.md", "d.md"));
    }

    #[test]
    fn what_only_looks_like_a_definition_is_prose() {
        let prose = "values in the range [0, 1]: clipped\n\n[^1]: see\n\n[1]: Smith et al.\n\nin\n[0]: clipped\n";
        assert_eq!(targets(prose), [""; 0]);
        let text = "[a]: b.md\n> [c]: <d e.md> (f)\n\n[^1]: see [g](h.md)\n";
        assert_eq!(targets(text), ["b.md", "d e.md", "h.md"]);
    }

    #[test]
    fn headings_may_be_underlined_and_anchors_named() {
        let text = "A b\n===\n\nC\n---\n\n---\n<a id=\"d\"></a><a name=\"E\">\n~~~\nno\n---\n~~~\n### f ###\n";
        let names = headings(text);
        assert_eq!(names, ["", "E", "a-b", "c", "d", "f"].map(String::from).into());
    }

    #[test]
    fn many_marks_take_no_longer_than_the_text() {
        assert_eq!(targets(&"](".repeat(500_000)), [""; 0]);
    }

    #[test]
    fn a_target_inside_of_another_is_none() {
        for text in [
            "[a](b](c) d",
            "[r]: [t](u)",
            "![a](<b href=\"c\"> d)",
            "[![b](xa.md)][r]\n\n[r]: a.md",
        ] {
            assert_eq!(replace_targets(text, |target| Some(target.to_owned())), text);
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
