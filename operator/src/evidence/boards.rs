//! The power limits of boards as they leave the factory, for exporters that do not send the limit in force.

/// `modelName` as the driver gives it, and watts. Source: NVIDIA's data sheets; the largest of a product's variants.
const BOARDS: &[(&str, f64)] = &[
    ("Tesla T4", 70.0),
    ("Tesla V100-PCIE-16GB", 250.0),
    ("Tesla V100-PCIE-32GB", 250.0),
    ("Tesla V100-SXM2-16GB", 300.0),
    ("Tesla V100-SXM2-32GB", 300.0),
    ("NVIDIA A10", 150.0),
    ("NVIDIA A10G", 300.0),
    ("NVIDIA A30", 165.0),
    ("NVIDIA A40", 300.0),
    ("NVIDIA A100-PCIE-40GB", 250.0),
    ("NVIDIA A100 80GB PCIe", 300.0),
    ("NVIDIA A100-SXM4-40GB", 400.0),
    ("NVIDIA A100-SXM4-80GB", 400.0),
    ("NVIDIA RTX A6000", 300.0),
    ("NVIDIA L4", 72.0),
    ("NVIDIA L40", 300.0),
    ("NVIDIA L40S", 350.0),
    ("NVIDIA H100 PCIe", 350.0),
    ("NVIDIA H100 NVL", 400.0),
    ("NVIDIA H100 80GB HBM3", 700.0),
    ("NVIDIA H200", 700.0),
    ("NVIDIA H200 NVL", 600.0),
    ("NVIDIA B200", 1_000.0),
    ("NVIDIA GB200", 1_200.0),
];

/// Watts of this product; none where it is not known. Names are compared whole: a card and its twin on another board
/// differ by a suffix and by half of the power.
pub fn power_limit(model: &str) -> Option<f64> {
    BOARDS.iter().find(|(name, _)| *name == model).map(|(_, watts)| *watts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_are_known_by_their_whole_name() {
        assert_eq!(power_limit("NVIDIA H100 80GB HBM3"), Some(700.0));
        assert_eq!(power_limit("NVIDIA H100 PCIe"), Some(350.0));
        assert_eq!(power_limit("NVIDIA H100"), None);
    }
}
