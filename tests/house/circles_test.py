"""Tests of circles.py on small crates: python3 -m unittest discover -s tests/house -p '*_test.py'"""

import tempfile
import unittest
from pathlib import Path

from circles import report


class Circles(unittest.TestCase):
    def found(self, **files):
        """Returns the report on a crate; `a_b` is the file a/b.rs."""
        with tempfile.TemporaryDirectory() as crate:
            for name, text in files.items():
                file = Path(crate, "src", name.replace("_", "/") + ".rs")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            return [line.strip() for line in report(Path(crate))[1:]]

    def both(self, a, b, lib="mod a; mod b;", **more):
        self.assertEqual(self.found(lib=lib, a=a, b=b, **more), ["src/a.rs -> src/b.rs: B", "src/b.rs -> src/a.rs: A"])

    def test_imports(self):
        self.both("use crate::b::B; pub struct A(B);", "use super::a::{self, A}; pub enum B { One(A) }")
        self.both("use crate::{b::{B as Other}}; pub fn A() {}", "use super::a::*; pub trait B { fn f() { A() } }")

    def test_paths(self):
        self.both("pub struct A { b: crate::b::B }", "use crate::a; pub fn B(_: Option<a::A>) {}")
        self.both("pub fn A() { use super::b::B; }", "pub const B: u8 = self::inner::C; mod inner { pub const C: u8 = super::super::a::A; }")
        self.both('#[serde(default = "crate::b::B")] pub struct A;', "#[arg(value_parser = super::a::A)] pub struct B;")

    def test_re_exports(self):
        lib = "mod a; mod b; pub use a::A; pub(crate) use b::*;"
        self.both("use crate::B; pub struct A;", "use crate::A; pub struct B;", lib)
        self.both("use super::c::B; pub struct A;", "use super::c::A; pub struct B;", "mod a; mod b; mod c;", c="pub use super::{a::A, b::B};")

    def test_a_parent_that_declares_something_itself(self):
        found = self.found(lib="mod a;", a_mod="mod b; use b::B; pub struct A(B);", a_b="use super::A; pub struct B(A);")
        self.assertEqual(found, ["src/a/b.rs -> src/a/mod.rs: A", "src/a/mod.rs -> src/a/b.rs: B"])

    def test_three(self):
        found = self.found(lib="mod a; mod b; mod c;", a="use crate::b::B; fn A() {}", b="use crate::c::C; fn B() {}", c="use crate::a::A; fn C() {}")
        self.assertEqual(len(found), 3)

    def test_rooms(self):
        lib = "mod a; mod b; mod c;"
        files = {"a_mod": "mod x; mod y;", "a_x": "use crate::b::x::B; pub struct A(B);", "a_y": "pub struct C;", "b_mod": "mod x;"}
        found = self.found(lib=lib, **files, b_x="use crate::a::y::C; pub struct B(C);")
        self.assertEqual(found, ["src/a -> src/b: B", "src/b -> src/a: C"])
        # Through a file beside them.
        found = self.found(lib=lib, **files, b_x="use crate::c::D; pub struct B(D);", c="use crate::a::y::C; pub struct D(C);")
        self.assertEqual(found, ["src/a -> src/b: B", "src/b -> src/c: D", "src/c -> src/a: C"])
        # Within a room, and in one direction only.
        within = {"a_mod": "mod x; mod y;", "a_x": "use super::y::C; pub struct A(C);", "a_y": "pub struct C;", "b_mod": "mod x;"}
        self.assertEqual(self.found(lib=lib, **within, b_x="use crate::a::{x::A, y::C}; pub struct B(A, C);"), [])

    def test_what_is_no_circle(self):
        b = "use crate::a::A; pub struct B(A);"
        for a in [
            "pub struct A;",
            "mod c { use crate::C; } pub struct A;",
            "// crate::b::B\n/* crate::b::B */ pub struct A; const C: &str = \"crate::b::B\"; const D: &str = r#\"\"crate::b::B\"#;",
            "#[cfg(test)] mod tests; pub struct A;",
            "pub struct A; #[cfg(test)] mod tests { use crate::b::B; }",
            "#[cfg(test)] #[allow(unused)] use crate::b::{B}; #[test] fn t() { crate::b::B }  pub struct A { #[cfg(test)] b: crate::b::B, c: u8 }",
            "pub struct A; fn f(B: u8) -> u8 { B }",
        ]:
            self.assertEqual(self.found(lib="mod a; mod b;", a=a, b=b, a_tests="use crate::b::B;"), [], a)
        self.assertEqual(self.found(lib="mod a; mod b; pub use a::A; pub use b::B;", a="pub struct A;", b=b), [])


if __name__ == "__main__":
    unittest.main()
