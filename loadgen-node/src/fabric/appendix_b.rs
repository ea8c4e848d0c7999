//! What each benchmark needs of the network: Appendix B of the inference rules v5.0, in bytes per sample.
//!
//! The appendix gives elements; the bytes of an element are those of the official implementations' inputs, and are
//! named here. Where the rules call a direction negligible it is 0.

/// One benchmark's bytes per sample.
#[derive(Debug)]
pub(super) struct Need {
    /// The benchmark's name.
    pub(super) name: &'static str,
    /// The formula with its numbers.
    pub(super) formula: &'static str,
    /// From the LoadGen node to the SUT.
    pub(super) ingress_bytes: u64,
    /// Back.
    pub(super) egress_bytes: u64,
}

/// Sections B.1 and B.2.
pub(super) const NEEDS: [Need; 12] = [
    need("resnet50", "3*224*224, uint8", 3 * 224 * 224, 0),
    need("resnet50-fp32", "3*224*224, float32", 3 * 224 * 224 * 4, 0),
    need("retinanet", "3*800*800, uint8", 3 * 800 * 800, 0),
    need("3d-unet", "32944795 in and out, uint8", 32_944_795, 32_944_795),
    need("bert", "3*384, int64", 3 * 384 * 8, 0),
    need("gptj", "2048, int32", 2048 * 4, 0),
    need("llama2-70b", "1024, int32", 1024 * 4, 0),
    need("llama3.1-405b", "20000, int32", 20_000 * 4, 0),
    need("mixtral-8x7b", "2048, int32", 2048 * 4, 0),
    need("dlrm-v2", "270*(13 float32 + 26 int32)", 270 * (13 * 4 + 26 * 4), 0),
    need("stable-diffusion-xl", "77 int32 in, 3145728 uint8 out", 77 * 4, 3_145_728),
    need("rgat", "negligible", 0, 0),
];

const fn need(
    name: &'static str,
    formula: &'static str,
    ingress_bytes: u64,
    egress_bytes: u64,
) -> Need {
    Need { name, formula, ingress_bytes, egress_bytes }
}
