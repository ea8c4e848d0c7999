//! Places and areas of a drawing.

use std::f64::consts::SQRT_2;

use roxmltree::Node;

/// The number that a text starts with, in pixels; none where it has another unit.
pub(super) fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    text.strip_suffix("px").unwrap_or(text).parse().ok().filter(|number: &f64| number.is_finite())
}

/// All numbers of a list; one that is none ends it.
pub(super) fn numbers(text: &str) -> Vec<f64> {
    let words = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
    words.map_while(number).collect()
}

/// Moves, turns and stretches points: the first two columns of the matrix, and the third.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Matrix([f64; 6]);

impl Default for Matrix {
    fn default() -> Self {
        Self([1.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    }
}

impl Matrix {
    /// What a list of transformations does after this one; none where one of them is of another kind.
    pub(super) fn and(self, list: &str) -> Option<Self> {
        let mut all = self;
        for call in list
            .split(')')
            .map(|call| call.trim_matches([' ', ',', '\n']))
            .filter(|call| !call.is_empty())
        {
            let (name, values) = call.split_once('(')?;
            let step = match (name.trim(), numbers(values).as_slice()) {
                ("translate", [x]) => [1.0, 0.0, 0.0, 1.0, *x, 0.0],
                ("translate", [x, y]) => [1.0, 0.0, 0.0, 1.0, *x, *y],
                ("scale", [x]) => [*x, 0.0, 0.0, *x, 0.0, 0.0],
                ("scale", [x, y]) => [*x, 0.0, 0.0, *y, 0.0, 0.0],
                ("matrix", [a, b, c, d, e, f]) => [*a, *b, *c, *d, *e, *f],
                ("rotate", [angle, rest @ ..]) => {
                    let (sin, cos) = angle.to_radians().sin_cos();
                    let (x, y) = (*rest.first().unwrap_or(&0.0), *rest.get(1).unwrap_or(&0.0));
                    [cos, sin, -sin, cos, x - cos * x + sin * y, y - sin * x - cos * y]
                }
                _ => return None,
            };
            all = all.times(step);
        }
        Some(all)
    }

    fn times(self, [a, b, c, d, e, f]: [f64; 6]) -> Self {
        let [x1, y1, x2, y2, _, _] = self.0;
        let (x, y) = self.apply((e, f));
        Self([x1 * a + x2 * b, y1 * a + y2 * b, x1 * c + x2 * d, y1 * c + y2 * d, x, y])
    }

    pub(super) fn apply(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let [a, b, c, d, e, f] = self.0;
        (a * x + c * y + e, b * x + d * y + f)
    }

    /// How much longer it makes the shorter side of letters.
    pub(super) fn scale(&self) -> f64 {
        let [a, b, c, d, _, _] = self.0;
        a.hypot(b).min(c.hypot(d))
    }
}

/// What a length is along: that of a radius is of both sides.
#[derive(Clone, Copy)]
pub(super) enum Side {
    Width,
    Height,
    Both,
}

/// A rectangle along the axes: its corners.
#[derive(Debug, Clone, Copy)]
pub(super) struct Area {
    from: (f64, f64),
    to: (f64, f64),
}

impl Area {
    pub(super) const EVERYWHERE: Self =
        Self { from: (f64::NEG_INFINITY, f64::NEG_INFINITY), to: (f64::INFINITY, f64::INFINITY) };

    pub(super) fn of(x: f64, y: f64, width: f64, height: f64) -> Self {
        Self { from: (x, y), to: (x + width, y + height) }
    }

    pub(super) fn width(&self) -> f64 {
        self.to.0 - self.from.0
    }

    pub(super) fn height(&self) -> f64 {
        self.to.1 - self.from.1
    }

    pub(super) fn has(&self, (x, y): (f64, f64)) -> bool {
        (self.from.0..=self.to.0).contains(&x) && (self.from.1..=self.to.1).contains(&y)
    }

    fn around(points: impl IntoIterator<Item = (f64, f64)>) -> Option<Self> {
        points.into_iter().fold(None, |area: Option<Self>, (x, y)| {
            let Self { from, to } = area.unwrap_or(Self { from: (x, y), to: (x, y) });
            Some(Self { from: (from.0.min(x), from.1.min(y)), to: (to.0.max(x), to.1.max(y)) })
        })
    }

    /// The same with a border of that width.
    pub(super) fn wider(self, by: f64) -> Self {
        let Self { from, to } = self;
        Self { from: (from.0 - by, from.1 - by), to: (to.0 + by, to.1 + by) }
    }

    /// Where it is after a transformation.
    pub(super) fn through(self, matrix: &Matrix) -> Self {
        let Self { from, to } = self;
        let corners = [from, (to.0, from.1), (from.0, to.1), to].map(|corner| matrix.apply(corner));
        Self::around(corners).unwrap_or(Self::EVERYWHERE)
    }

    /// A length in pixels; `%` is of a side.
    pub(super) fn length(&self, text: &str, side: Side) -> Option<f64> {
        let whole = match side {
            Side::Width => self.width(),
            Side::Height => self.height(),
            Side::Both => self.width().hypot(self.height()) / SQRT_2,
        };
        number(text).or_else(|| Some(number(text.trim().strip_suffix('%')?)? / 100.0 * whole))
    }

    /// That of an element in a view; none where it cannot be told.
    pub(super) fn of_shape(node: Node, view: &Self) -> Option<Self> {
        let length = |name: &str, side| {
            node.attribute(name).map_or(Some(0.0), |text| view.length(text, side))
        };
        let [x, y] = [Side::Width, Side::Height].map(|side| move |name: &str| length(name, side));
        match node.tag_name().name() {
            "rect" => Some(Self::of(x("x")?, y("y")?, x("width")?, y("height")?)),
            "circle" | "ellipse" => {
                let both = length("r", Side::Both)?;
                let (wide, high) = (x("rx")?.max(both), y("ry")?.max(both));
                Some(Self::of(x("cx")? - wide, y("cy")? - high, 2.0 * wide, 2.0 * high))
            }
            "line" => {
                let ends = [(x("x1")?, y("y1")?), (x("x2")?, y("y2")?)];
                Self::around(ends)
            }
            "path" => path(node.attribute("d")?),
            _ => {
                let points = numbers(node.attribute("points")?);
                Self::around(points.chunks_exact(2).map(|point| (point[0], point[1])))
            }
        }
    }
}

/// The area of a path's points, those that only steer its curves included.
fn path(text: &str) -> Option<Area> {
    let mut points = Vec::new();
    let mut here = (0.0, 0.0);
    let mut start = here;
    let is_command = |c: char| c.is_ascii_alphabetic() && c != 'e';
    for part in text.split_inclusive(is_command).zip(text.split(is_command).skip(1)) {
        let (command, values) = (part.0.chars().last()?, numbers(&part.1.replace('-', " -")));
        let base = |here: (f64, f64)| if command.is_lowercase() { here } else { (0.0, 0.0) };
        let size = match command.to_ascii_uppercase() {
            'M' | 'L' | 'T' => 2,
            'H' | 'V' => 1,
            'S' | 'Q' => 4,
            'C' => 6,
            'A' => 7,
            'Z' => {
                here = start;
                continue;
            }
            _ => return None,
        };
        for step in values.chunks_exact(size) {
            let (x, y) = base(here);
            let new: Vec<_> = match command {
                'H' | 'h' => vec![(x + step[0], here.1)],
                'V' | 'v' => vec![(here.0, y + step[0])],
                // How far an arc swings out.
                'A' | 'a' => {
                    let end = (x + step[5], y + step[6]);
                    let (wide, high) = (2.0 * step[0].abs(), 2.0 * step[1].abs());
                    points.extend([(end.0 - wide, end.1 - high), (end.0 + wide, end.1 + high)]);
                    vec![end]
                }
                _ => step.chunks_exact(2).map(|point| (x + point[0], y + point[1])).collect(),
            };
            here = *new.last()?;
            points.extend(new);
        }
        if command.eq_ignore_ascii_case(&'M') {
            start = here;
        }
    }
    Area::around(points)
}
