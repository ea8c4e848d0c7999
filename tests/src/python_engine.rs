//! Nodes with an engine in Python, whose file a test writes.

use crate::{Folder, SutNode, process::built_file};

/// A folder with the file of an engine.
pub struct PythonEngine(Folder);

impl PythonEngine {
    /// Writes the source of an engine.
    pub fn new(source: &str) -> Self {
        let engine = Self(Folder::create());
        engine.write("engine.py", source.trim_start());
        engine
    }

    /// Returns the path of a file in the folder.
    pub fn path(&self, name: &str) -> String {
        self.0.path(name)
    }

    /// Writes a file into the folder, and returns its path.
    pub fn write(&self, name: &str, text: &str) -> String {
        self.0.write(name, text)
    }

    /// Starts a node. Returns its log if it exits before it is ready.
    pub fn try_node(&self, args: &[&str]) -> Result<SutNode, String> {
        try_node(&self.path("engine.py"), args)
    }

    /// Starts a node.
    pub fn node(&self, args: &[&str]) -> SutNode {
        self.try_node(args).unwrap_or_else(|log| panic!("{log}"))
    }
}

/// Starts a node with the engine in `file`. Returns its log if it exits before it is ready.
pub fn try_node(file: &str, args: &[&str]) -> Result<SutNode, String> {
    let python = built_file("engine/bin/python").display().to_string();
    let own = ["--engine", "python", "--model", file, "--python", &python];
    SutNode::try_start("a", &[&own[..], args].concat())
}
