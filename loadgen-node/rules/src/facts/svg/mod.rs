//! The texts of an SVG file that are seen where it is drawn.
//!
//! Read strictly: a text counts where nothing in the file may hide it. What is not understood (a clip, a filter, a style of
//! another kind) may, and a file that moves or takes in others is refused.

mod geometry;
mod look;
mod sheet;

use roxmltree::{Document, Node};

use geometry::{Area, Side, number};
use look::{Look, Paint};
use sheet::Sheet;

const NAMESPACE: &str = "http://www.w3.org/2000/svg";

/// What may change a drawing after it was read, or takes in what is not in the file.
const FOREIGN: [&str; 10] = [
    "link",
    "script",
    "animate",
    "animateMotion",
    "animateTransform",
    "set",
    "foreignObject",
    "use",
    "image",
    "switch",
];

/// Least height of letters, in pixels.
const LEAST_SIZE: f64 = 4.0;

/// Widest line that is taken for one, in pixels.
const WIDEST_LINE: f64 = 5.0;

/// Most elements of a drawing.
const MOST_ELEMENTS: usize = 20_000;

/// How deep elements may be nested.
const DEEPEST: usize = 100;

/// A text, and where it starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Text {
    pub x: f64,
    pub y: f64,
    pub text: String,
}

/// A drawing, as far as it is read.
#[derive(Debug, Default)]
pub struct Drawn {
    /// Texts that are seen.
    pub seen: Vec<Text>,
    /// Texts that are not, or may not be, each with the reason.
    pub hidden: Vec<(String, String)>,
}

/// Reads a file.
///
/// # Errors
///
/// When it is no SVG, or what it shows cannot be told.
pub fn drawn(file: &str) -> Result<Drawn, String> {
    let document = Document::parse(file).map_err(|error| format!("is no SVG: {error}"))?;
    let root = document.root_element();
    if root.tag_name().name() != "svg" || root.tag_name().namespace() != Some(NAMESPACE) {
        return Err("is no SVG: its root is no svg element".into());
    }
    if document.descendants().filter(Node::is_element).nth(MOST_ELEMENTS).is_some() {
        return Err(format!("has more than {MOST_ELEMENTS} elements: draw it with fewer"));
    }
    for node in document.descendants() {
        if node.ancestors().nth(DEEPEST + 1).is_some() {
            return Err(format!("has elements nested deeper than {DEEPEST}: draw it flat"));
        }
        let name = node.tag_name().name();
        if FOREIGN.contains(&name) || node.is_pi() || (name == "svg" && node != root) {
            return Err(format!(
                "has the element `{name}`, so what it shows cannot be told: draw it without"
            ));
        }
        if node.attributes().any(|attribute| attribute.name().starts_with("on")) {
            return Err(format!("has a script in its element `{name}`: draw it without"));
        }
    }
    if root.attribute("preserveAspectRatio").is_some_and(|value| value.contains("slice")) {
        return Err("has a preserveAspectRatio that cuts it: draw it without".into());
    }
    let styles = document.descendants().filter(|node| node.tag_name().name() == "style");
    let rules = styles.flat_map(|style| style.children()).filter(|child| child.is_text());
    let sheet = Sheet::read(&rules.filter_map(|rules| rules.text()).collect::<String>())?;
    let view = view(root).ok_or("says neither its size nor its viewBox")?;
    let mut canvas = Canvas { sheet, view, shapes: Vec::new(), pieces: Vec::new() };
    canvas.walk(root, &Look::default());
    let mut drawn = Drawn::default();
    for piece in &canvas.pieces {
        let text = piece.text.split_whitespace().collect::<Vec<_>>().join(" ");
        match canvas.hides(piece) {
            _ if text.is_empty() => {}
            Some(why) => drawn.hidden.push((text, why)),
            None => drawn.seen.push(Text { x: piece.at.0, y: piece.at.1, text }),
        }
    }
    Ok(drawn)
}

/// What of the plane is shown, and how many pixels a unit of it has.
struct View {
    area: Area,
    scale: f64,
}

fn view(root: Node) -> Option<View> {
    let length = |name: &str| root.attribute(name).filter(|text| !text.ends_with('%')).map(number);
    let numbers = root.attribute("viewBox").map(geometry::numbers);
    let area = match numbers.as_deref() {
        Some([x, y, width, height]) => Area::of(*x, *y, *width, *height),
        Some(_) => return None,
        None => Area::of(0.0, 0.0, length("width")??, length("height")??),
    };
    // A window of 1000 pixels, where the file does not say.
    let scale = |name: &str, of: f64| Some(length(name).unwrap_or(Some(1000.0))? / of);
    let scale = scale("width", area.width())?.min(scale("height", area.height())?);
    Some(View { area, scale })
}

/// A part of a text at one place.
struct Piece {
    text: String,
    at: (f64, f64),
    look: Look,
    /// Shapes that were drawn before.
    shapes: usize,
}

struct Shape {
    area: Area,
    fill: Paint,
}

struct Canvas {
    sheet: Sheet,
    view: View,
    shapes: Vec<Shape>,
    pieces: Vec<Piece>,
}

impl Canvas {
    fn walk(&mut self, node: Node, above: &Look) {
        if node.tag_name().namespace() != Some(NAMESPACE) {
            return;
        }
        let look = above.of(node, &self.sheet);
        match node.tag_name().name() {
            "svg" | "g" | "a" => node.children().for_each(|child| self.walk(child, &look)),
            "text" => self.text(node, &look, None),
            "rect" | "circle" | "ellipse" | "polygon" | "polyline" | "path" | "line" => {
                self.shape(node, &look);
            }
            // All else, such as a title or a definition, is not drawn.
            _ => {}
        }
    }

    fn shape(&mut self, node: Node, look: &Look) {
        let area = Area::of_shape(node, &self.view.area).filter(|_| look.is_placed);
        let known = area.map_or(Area::EVERYWHERE, |area| area.through(&look.matrix));
        let is_told = area.is_some() && look.is_shown();
        let fill = if is_told { look.fill } else { Paint::Unknown };
        // What may be hidden may be seen as well.
        let is_line = node.tag_name().name() == "line" && look.is_placed;
        if !is_line && (look.fill != Paint::None || !look.is_shown()) {
            self.shapes.push(Shape { area: known, fill });
        }
        // A line so wide that it may hide letters; it is no ground to write on.
        let width = look.stroke * look.matrix.scale();
        if width > WIDEST_LINE {
            self.shapes.push(Shape { area: known.wider(width / 2.0), fill: Paint::None });
        }
    }

    /// Letters of an element and of those inside of it, which may have a place of their own.
    fn text(&mut self, node: Node, look: &Look, at: Option<(f64, f64)>) {
        let view = &self.view.area;
        let length = |name: &str, side| {
            let length = |text| view.length(text, side).or_else(|| look.length(text));
            node.attribute(name).map(|text| length(text).unwrap_or(f64::NAN))
        };
        let shift = |name: &str, side| length(name, side).unwrap_or_default();
        let shift = (shift("dx", Side::Width), shift("dy", Side::Height));
        let own = ["x", "y", "dx", "dy"].iter().any(|name| node.has_attribute(*name));
        let before = at.unwrap_or_default();
        let place = |name: &str, side, before| length(name, side).unwrap_or(before);
        let here = (
            place("x", Side::Width, before.0) + shift.0,
            place("y", Side::Height, before.1) + shift.1,
        );
        let mut is_new = own || at.is_none();
        for child in node.children() {
            if let Some(text) = child.text().filter(|_| child.is_text()) {
                match self.pieces.last_mut().filter(|_| !is_new) {
                    Some(last) if last.look.is_shown() == look.is_shown() => last.text += text,
                    _ => {
                        let (look, shapes) = (look.clone(), self.shapes.len());
                        self.pieces.push(Piece { text: text.into(), at: here, look, shapes });
                    }
                }
                is_new = false;
            } else if child.tag_name().name() == "tspan" {
                let inner = look.of(child, &self.sheet);
                is_new |= inner.differs(look);
                let first = self.pieces.len();
                self.text(child, &inner, (!is_new).then_some(here));
                is_new = inner.differs(look) || (is_new && self.pieces.len() == first);
            }
        }
    }

    /// Why a text is not seen, or may not be.
    fn hides(&self, piece: &Piece) -> Option<String> {
        let (look, view) = (&piece.look, &self.view);
        if let Some(why) = &look.hidden {
            return Some(why.clone());
        }
        let scale = look.matrix.scale() * view.scale;
        let height = look.size * scale;
        if height.is_nan() || height < LEAST_SIZE {
            return Some("its letters are too small to be read".into());
        }
        if look.stroke > 0.0 {
            return Some("its letters have an outline, which may fill them".into());
        }
        let long = piece.text.trim().chars().count() as f64 * look.size * 0.6;
        let (below, above) = self.shapes.split_at(piece.shapes);
        [0.0, 0.25, 0.5, 0.75, 1.0].into_iter().find_map(|share| {
            let x = piece.at.0 + long * (share - look.anchor);
            let point = look.matrix.apply((x, piece.at.1 - look.size / 3.0));
            if !view.area.has(point) {
                return Some("it is outside of the drawing".into());
            }
            if above.iter().any(|shape| shape.area.has(point)) {
                return Some("something is drawn over it".into());
            }
            let is_ground = |shape: &&Shape| shape.fill != Paint::None && shape.area.has(point);
            let ground =
                below.iter().rev().find(is_ground).map_or(Paint::WHITE, |shape| shape.fill);
            let stands_out = look.fill.stands_out(ground);
            (!stands_out).then(|| "its colour is that of the ground, or is not known".into())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawing(inside: &str) -> Result<Drawn, String> {
        drawn(&format!("<svg xmlns=\"{NAMESPACE}\" viewBox=\"0 0 200 200\">{inside}</svg>"))
    }

    #[test]
    fn a_drawing_with_too_much_in_it_is_refused() {
        let said = drawing(&"<g/>".repeat(20_000)).unwrap_err();
        assert_eq!(said, "has more than 20000 elements: draw it with fewer");
        for rules in ["a{}".repeat(1001), format!("a{{{}}}", "b:c;".repeat(1001))] {
            let said = drawing(&format!("<style>{rules}</style>")).unwrap_err();
            assert!(said.starts_with("has more than 1000 declarations"), "{said}");
        }
    }

    #[test]
    fn shares_are_of_the_view() {
        let text = "<text x=\"10%\" y=\"50%\" style=\"paint-order: stroke; font-variant: normal\">a</text>";
        let ground = "<rect width=\"100%\" height=\"100%\" fill=\"#eee\"/>";
        let aside = "<circle cx=\"90%\" cy=\"50%\" r=\"10%\"/>";
        let over = "<rect width=\"20%\" height=\"100%\"/>";
        let seen = |inside: &[&str]| drawing(&inside.concat()).unwrap().seen;
        assert_eq!(seen(&[ground, text, aside]), [Text { x: 20.0, y: 100.0, text: "a".into() }]);
        assert_eq!(seen(&[ground, text, over]), []);
    }

    #[test]
    fn a_shape_that_may_be_seen_may_hide_a_text() {
        let text = "<text x=\"9\" y=\"99\">a</text>";
        let is_seen = |before: &str, after: &str| {
            drawing(&[before, text, after].concat()).unwrap().seen.len() == 1
        };
        for style in ["fill: white !important", "display: inline-block"] {
            let rect = format!("<rect width=\"99\" height=\"200\" style=\"{style}\"/>");
            assert!(!is_seen("", &rect), "{style}");
            assert!(!is_seen(&rect, ""), "{style}");
        }
        for style in ["width: 99px; height: 200px", "stroke: white; stroke-width: 900px !important"]
        {
            assert!(!is_seen("", &format!("<line style=\"{style}\"/>")), "{style}");
        }
        assert!(is_seen("", "<rect x=\"150\" width=\"9\" height=\"9\" display=\"none\"/>"));
    }

    #[test]
    fn what_may_hide_a_text_does() {
        let is_seen = |style: &str| {
            let rules = format!("<style>text {{ {style} }}</style>");
            let text = "<text x=\"9\" y=\"99\" style=\"fill: black; stroke: none\">a</text>";
            drawing(&(rules + text)).unwrap().seen.len() == 1
        };
        for style in ["", "display: block", "display: inline", "font-weight: bold !important"] {
            assert!(is_seen(style), "{style}");
        }
        for style in
            ["display: none !important", "display: contents", "visibility: hidden !important"]
        {
            assert!(!is_seen(style), "{style}");
        }
        for style in
            ["fill: white !important", "stroke: white !important", "font: 1px a !important"]
        {
            assert!(!is_seen(style), "{style}");
        }
    }

    #[test]
    fn a_deep_drawing_is_refused() {
        for (open, close) in [("<g>", "</g>"), ("<text><tspan>", "</tspan></text>")] {
            let deep = open.repeat(1000) + &close.repeat(1000);
            assert!(drawing(&deep).unwrap_err().contains("deeper than 100"), "{open}");
        }
        let flat = "<g>".repeat(90) + "<text x=\"9\" y=\"99\">a</text>" + &"</g>".repeat(90);
        assert_eq!(drawing(&flat).unwrap().seen.len(), 1);
    }
}
