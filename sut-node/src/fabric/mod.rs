//! The network from this node to others, measured for `loadgen-node fabric --matrix`: between the nodes of a cluster, without
//! the LoadGen node's link.

pub(crate) mod feed;
pub(crate) mod measure;
