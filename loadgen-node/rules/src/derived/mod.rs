//! What files of a submission say that its runs tell: made when a submission is, and made again when it is checked.

pub(crate) mod cluster;
pub(crate) mod description;
pub(crate) mod markdown;
pub(crate) mod network;
pub mod readme;
