//! A style sheet, as far as a drawing needs one: selectors of an element's name, class or id.

use roxmltree::Node;

/// Most declarations of a sheet; each selector counts those of its rule, and an empty rule is one.
const MOST_DECLARATIONS: usize = 1000;

/// A property and its value.
pub(super) type Declaration = (String, String);

/// Rules, in the order of the file.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    rules: Vec<(Selector, Vec<Declaration>)>,
}

/// What elements a rule is for; an empty part is any.
#[derive(Debug, Default)]
struct Selector {
    element: String,
    class: String,
    id: String,
}

impl Sheet {
    /// Reads a sheet; one with anything else in it is an error.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let text = without_comments(text);
        let mut count = 0;
        let mut sheet = Self::default();
        for rule in text.split('}').map(str::trim).filter(|rule| !rule.is_empty()) {
            let wrong = || {
                format!(
                    "has `{rule}` in its style sheet, of which what it hides cannot be told: draw it without"
                )
            };
            let (selectors, body) = rule.split_once('{').ok_or_else(wrong)?;
            for selector in selectors.split(',') {
                let selector = Selector::read(selector.trim()).ok_or_else(wrong)?;
                let declared = declarations(body);
                count += declared.len().max(1);
                if count > MOST_DECLARATIONS {
                    return Err(format!(
                        "has more than {MOST_DECLARATIONS} declarations in its style sheet: draw it with fewer"
                    ));
                }
                sheet.rules.push((selector, declared));
            }
        }
        Ok(sheet)
    }

    /// What is declared of an element, what counts more later.
    pub(super) fn of(&self, node: Node) -> Vec<Declaration> {
        let mut fitting: Vec<_> =
            self.rules.iter().filter(|(selector, _)| selector.is_for(node)).collect();
        fitting.sort_by_key(|(selector, _)| selector.weight());
        let own = node.attribute("style").map(declarations);
        fitting
            .into_iter()
            .flat_map(|(_, declared)| declared.clone())
            .chain(own.into_iter().flatten())
            .collect()
    }
}

impl Selector {
    fn read(text: &str) -> Option<Self> {
        let mut selector = Self::default();
        let mut rest = text.strip_prefix('*').unwrap_or(text);
        while !rest.is_empty() {
            let end = rest.char_indices().skip(1).find(|(_, c)| ".#".contains(*c));
            let end = end.map_or(rest.len(), |(place, _)| place);
            let (part, more) = rest.split_at(end);
            let (place, name) = match part.as_bytes()[0] {
                b'.' => (&mut selector.class, &part[1..]),
                b'#' => (&mut selector.id, &part[1..]),
                _ => (&mut selector.element, part),
            };
            let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
            if name.is_empty() || !is_name || !place.is_empty() {
                return None;
            }
            *place = name.into();
            rest = more;
        }
        (!text.is_empty()).then_some(selector)
    }

    fn is_for(&self, node: Node) -> bool {
        let Self { element, class, id } = self;
        let mut classes = node.attribute("class").unwrap_or_default().split_whitespace();
        (element.is_empty() || node.tag_name().name() == element)
            && (class.is_empty() || classes.any(|name| name == class))
            && (id.is_empty() || node.attribute("id") == Some(id))
    }

    fn weight(&self) -> (bool, bool, bool) {
        (!self.id.is_empty(), !self.class.is_empty(), !self.element.is_empty())
    }
}

fn declarations(body: &str) -> Vec<Declaration> {
    let body = without_comments(body);
    let parts = body.split(';').filter(|part| !part.trim().is_empty());
    let declaration = |part: &str| {
        let (name, value) = part.split_once(':').unwrap_or((part, ""));
        (name.trim().to_lowercase(), value.trim().to_lowercase())
    };
    parts.map(declaration).collect()
}

fn without_comments(text: &str) -> String {
    let mut parts = text.split("/*");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + " " + part.split_once("*/").map_or("", |(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_other_alphabets_are_refused() {
        assert!(Sheet::read("é{fill:none}").is_err());
        assert!(Sheet::read(".é#é{fill:none}").is_err());
        assert!(Sheet::read("text.a#b{fill:none}").is_ok());
    }
}
