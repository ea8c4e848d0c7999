//! Measurements of the network from this node to others, for `loadgen-node fabric --matrix`. They
//! run between the nodes of a cluster, without the LoadGen node's link.

pub(crate) mod feed;
pub(crate) mod measure;
