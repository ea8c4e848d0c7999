//! What the network between this machine and the nodes can carry, over the very transport of a run: the same QDL,
//! messages, windows and connections. Nodes run the engine `none`, which answers each sample with as many bytes as it
//! asks for.

pub(crate) mod figures;
pub(crate) mod measure;
pub(crate) mod route;
