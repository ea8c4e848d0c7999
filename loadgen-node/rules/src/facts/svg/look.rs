//! How an element of a drawing looks, by its attributes and styles and those of the elements around it.

use roxmltree::Node;

use super::{
    geometry::{Matrix, number},
    sheet::Sheet,
};

/// What areas and letters are filled with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Paint {
    None,
    Colour([u8; 3]),
    /// A gradient, a pattern, or a colour by a name that is not known here.
    Unknown,
}

impl Paint {
    pub(super) const WHITE: Self = Self::Colour([255; 3]);

    fn read(text: &str) -> Self {
        let hex = |digits: &str| u8::from_str_radix(digits, 16).ok();
        let colour = match text.strip_prefix('#') {
            Some(digits) if digits.len() == 3 && digits.is_ascii() => {
                let one = |place: usize| Some(hex(&digits[place..=place])? * 17);
                [one(0), one(1), one(2)]
            }
            Some(digits) if digits.len() == 6 && digits.is_ascii() => {
                [0, 2, 4].map(|place| hex(&digits[place..place + 2]))
            }
            Some(_) => [None; 3],
            None => match text {
                "none" | "transparent" => return Self::None,
                "black" => [Some(0); 3],
                "white" => [Some(255); 3],
                "gray" | "grey" => [Some(128); 3],
                "navy" => [Some(0), Some(0), Some(128)],
                "blue" => [Some(0), Some(0), Some(255)],
                "green" => [Some(0), Some(128), Some(0)],
                "red" => [Some(255), Some(0), Some(0)],
                _ => {
                    let inside = text.strip_prefix("rgb(").and_then(|rest| rest.strip_suffix(')'));
                    let mut parts =
                        inside.unwrap_or_default().split(',').map(|part| part.trim().parse().ok());
                    [(); 3].map(|()| parts.next().flatten())
                }
            },
        };
        match colour {
            [Some(red), Some(green), Some(blue)] => Self::Colour([red, green, blue]),
            _ => Self::Unknown,
        }
    }

    /// Whether letters of it can be read on that ground.
    pub(super) fn stands_out(self, ground: Self) -> bool {
        let (Self::Colour(one), Self::Colour(other)) = (self, ground) else { return false };
        one.iter().zip(other).any(|(one, other)| one.abs_diff(other) >= 64)
    }
}

/// Properties that hide nothing.
const HARMLESS: [&str; 16] = [
    "font-family",
    "font-weight",
    "font-style",
    "font-variant",
    "font-stretch",
    "fill-rule",
    "stroke-linecap",
    "stroke-linejoin",
    "stroke-miterlimit",
    "stroke-dasharray",
    "stroke-opacity",
    "paint-order",
    "marker-end",
    "marker-start",
    "dominant-baseline",
    "line-height",
];

/// Properties that do not change where an element is.
const UNMOVED: [&str; 8] = [
    "display",
    "visibility",
    "opacity",
    "fill-opacity",
    "fill",
    "font",
    "font-size",
    "letter-spacing",
];

/// Attributes that change how an element looks, as properties do.
const ATTRIBUTES: [&str; 20] = [
    "display",
    "visibility",
    "opacity",
    "fill-opacity",
    "fill",
    "font-size",
    "text-anchor",
    "transform",
    "clip-path",
    "mask",
    "filter",
    "letter-spacing",
    "textLength",
    "stroke",
    "stroke-width",
    "word-spacing",
    "baseline-shift",
    "writing-mode",
    "direction",
    "rotate",
];

#[derive(Debug, Clone)]
pub(super) struct Look {
    pub(super) fill: Paint,
    /// Height of letters.
    pub(super) size: f64,
    /// Where a text's point is in it: 0 is its start, 1 its end.
    pub(super) anchor: f64,
    pub(super) matrix: Matrix,
    opacity: f64,
    is_stroked: bool,
    stroke_width: f64,
    /// Width of its lines; 0 where it has none.
    pub(super) stroke: f64,
    /// Whether it is known where what has it is drawn.
    pub(super) is_placed: bool,
    /// Why what has it is not seen, or may not be.
    pub(super) hidden: Option<String>,
}

impl Default for Look {
    fn default() -> Self {
        let (fill, matrix) = (Paint::Colour([0; 3]), Matrix::default());
        Self {
            fill,
            size: 16.0,
            anchor: 0.0,
            matrix,
            opacity: 1.0,
            is_stroked: false,
            stroke_width: 1.0,
            stroke: 0.0,
            is_placed: true,
            hidden: None,
        }
    }
}

impl Look {
    pub(super) fn is_shown(&self) -> bool {
        self.hidden.is_none()
    }

    /// Whether letters look otherwise.
    pub(super) fn differs(&self, other: &Self) -> bool {
        let key = |look: &Self| (look.fill, look.size, look.opacity, look.matrix, look.is_shown());
        key(self) != key(other)
    }

    /// That of an element inside of what has this one.
    pub(super) fn of(&self, node: Node, sheet: &Sheet) -> Self {
        let mut look = self.clone();
        for name in ATTRIBUTES {
            if let Some(value) = node.attribute(name) {
                look.set(name, &value.trim().to_lowercase());
            }
        }
        for (name, value) in sheet.of(node) {
            look.set(&name, &value);
        }
        look.stroke = if look.is_stroked { look.stroke_width } else { 0.0 };
        look
    }

    /// A length in pixels; `em` and `%` are of letters.
    pub(super) fn length(&self, text: &str) -> Option<f64> {
        let of = |unit: &str, size: f64| Some(number(text.trim().strip_suffix(unit)?)? * size);
        number(text)
            .or_else(|| of("em", self.size))
            .or_else(|| of("%", self.size / 100.0))
            .or_else(|| of("pt", 4.0 / 3.0))
    }

    fn set(&mut self, name: &str, value: &str) {
        let understood = match (name, value) {
            (_, "inherit") => true,
            (name, _) if HARMLESS.contains(&name) => true,
            // It counts more than what comes later.
            (_, value) if value.contains('!') => false,
            ("display", value) => ["inline", "block"].contains(&value),
            ("visibility", value) => value == "visible",
            ("clip-path" | "mask" | "filter", value) => value == "none",
            ("opacity" | "fill-opacity", value) => {
                let share = value
                    .strip_suffix('%')
                    .map_or_else(|| number(value), |value| Some(number(value)? / 100.0));
                self.opacity *= share.unwrap_or(0.0);
                self.opacity >= 0.5
            }
            ("fill", value) => {
                self.fill = Paint::read(value);
                true
            }
            ("stroke", value) => {
                self.is_stroked = Paint::read(value) != Paint::None;
                true
            }
            ("stroke-width", value) => {
                self.length(value).map(|width| self.stroke_width = width).is_some()
            }
            ("font-size", value) => self.resize(Some(value)),
            // Size and family at least; weight and style may stand before.
            ("font", value) => {
                let is_size =
                    |word: &&str| word.starts_with(|c: char| c.is_ascii_digit() || c == '.');
                let size = value
                    .split_whitespace()
                    .find(|word| is_size(word) && self.length(word).is_some());
                self.resize(size)
            }
            ("text-anchor", value) => {
                self.anchor = if value == "middle" { 0.5 } else { f64::from(value == "end") };
                true
            }
            ("transform", value) => {
                self.matrix.and(value).map(|matrix| self.matrix = matrix).is_some()
            }
            _ => false,
        };
        if !understood {
            self.is_placed &= UNMOVED.contains(&name);
            self.hidden.get_or_insert_with(|| format!("`{name}: {value}` hides it, or may"));
        }
    }

    fn resize(&mut self, size: Option<&str>) -> bool {
        size.and_then(|size| self.length(size)).map(|size| self.size = size).is_some()
    }
}
