//! Types of a model's weights.

/// Floating-point type of a model's weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// IEEE 754, 32 bits.
    Fp32,
    /// IEEE 754, 32 bits; matrices are multiplied with 10 bits of fraction, if the device supports
    /// it.
    Tf32,
    /// IEEE 754, 16 bits.
    Fp16,
    /// The upper half of fp32.
    Bf16,
}

impl Precision {
    /// All precisions.
    pub const ALL: [Self; 4] = [Self::Fp32, Self::Tf32, Self::Fp16, Self::Bf16];

    /// Returns the name of the precision in the manifests of models.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fp32 => "fp32",
            Self::Tf32 => "tf32",
            Self::Fp16 => "fp16",
            Self::Bf16 => "bf16",
        }
    }
}
