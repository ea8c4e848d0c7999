//! The subset of SVG that a diagram needs.

use std::fmt::Write as _;

/// Width of a character of text, in pixels: slightly more than in fixed-width fonts.
pub(super) const CHARACTER: i32 = 7;

/// A drawing in progress. All coordinates are in pixels.
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
    /// X coordinate of the right side.
    pub(super) const fn right(&self) -> i32 {
        self.x + self.width
    }

    /// Y coordinate of the lower side.
    pub(super) const fn bottom(&self) -> i32 {
        self.y + self.height
    }
}

/// Returns the width of a text, in pixels.
pub(super) fn width(text: &str) -> i32 {
    i32::try_from(text.chars().count()).unwrap_or(i32::MAX / CHARACTER) * CHARACTER
}

fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    // XML cannot represent control characters.
    text.replace('"', "&quot;").replace(|c: char| c.is_control(), " ")
}

impl Svg {
    /// Draws a filled box with a CSS class.
    pub(super) fn rect(&mut self, class: &str, rect: Rect) {
        let Rect { x, y, width, height } = rect;
        let _ = writeln!(
            self.body,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"
        );
    }

    /// Draws a text whose baseline starts at a point.
    pub(super) fn text(&mut self, class: &str, x: i32, y: i32, text: &str) {
        let text = escape(text);
        let _ = writeln!(self.body, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{text}</text>");
    }

    /// Draws a line through points.
    pub(super) fn line(&mut self, points: &[(i32, i32)]) {
        let points: Vec<_> = points.iter().map(|(x, y)| format!("{x},{y}")).collect();
        let _ = writeln!(self.body, "<polyline points=\"{}\"/>", points.join(" "));
    }

    /// Returns the complete SVG file.
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
