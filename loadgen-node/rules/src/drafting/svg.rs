//! As much of SVG as a diagram needs.

use std::fmt::Write as _;

/// Width of a character of text, in pixels: a little more than fixed-width fonts have.
pub(super) const CHARACTER: i32 = 7;

/// A drawing under way. All figures are pixels.
#[derive(Debug, Default)]
pub(super) struct Svg {
    body: String,
}

/// A rectangle: its upper left corner, its width and its height.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rect {
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) width: i32,
    pub(super) height: i32,
}

impl Rect {
    /// The x of its right edge.
    pub(super) const fn right(&self) -> i32 {
        self.x + self.width
    }

    /// The y of its lower edge.
    pub(super) const fn bottom(&self) -> i32 {
        self.y + self.height
    }
}

/// How wide a text is.
pub(super) fn width(text: &str) -> i32 {
    i32::try_from(text.chars().count()).unwrap_or(i32::MAX / CHARACTER) * CHARACTER
}

fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    // XML has no way to write these.
    text.replace('"', "&quot;").replace(|c: char| c.is_control(), " ")
}

impl Svg {
    /// A filled box of that class.
    pub(super) fn rect(&mut self, class: &str, rect: Rect) {
        let Rect { x, y, width, height } = rect;
        let _ = writeln!(
            self.body,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"
        );
    }

    /// A text that starts at that point of its base line.
    pub(super) fn text(&mut self, class: &str, x: i32, y: i32, text: &str) {
        let text = escape(text);
        let _ = writeln!(self.body, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{text}</text>");
    }

    /// A line through these points.
    pub(super) fn line(&mut self, points: &[(i32, i32)]) {
        let points: Vec<_> = points.iter().map(|(x, y)| format!("{x},{y}")).collect();
        let _ = writeln!(self.body, "<polyline points=\"{}\"/>", points.join(" "));
    }

    /// The whole file.
    pub(super) fn finish(self, title: &str, style: &str, width: i32, height: i32) -> String {
        let Self { body } = self;
        let title = escape(title);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\">\n<title>{title}</title>\n<style>\n{style}</style>\n\
             <rect x=\"0\" y=\"0\" width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n{body}</svg>\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped() {
        let mut svg = Svg::default();
        svg.text("name", 1, 2, "a<b> & \"c\"\u{7}");
        let file = svg.finish("t", "", 10, 20);
        assert!(file.contains(">a&lt;b&gt; &amp; &quot;c&quot; </text>"), "{file}");
        assert!(file.starts_with("<svg ") && file.ends_with("</svg>\n"));
    }
}
