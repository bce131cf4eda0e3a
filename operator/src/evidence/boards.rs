//! What boards can do as they leave the factory: their power, where exporters do not send the limit in force, and their
//! links, which no exporter sends the peak of.

use wellfed_engine::card::Generation;

/// One product.
#[derive(Debug, PartialEq)]
pub struct Board {
    /// `modelName` as the driver gives it.
    name: &'static str,
    /// Power limit, watts.
    pub watts: f64,
    /// Peak of one direction of `NVLink`, bytes a second; none where the product has none.
    pub nvlink: Option<f64>,
    /// Peak of one direction of `PCIe`, bytes a second; none where the data sheet does not tell.
    pub pcie: Option<f64>,
}

impl Board {
    /// Its memory in gigabytes; none where the product is not known for one size. Most names tell it.
    pub fn gigabytes(&self) -> Option<f64> {
        let told = self.name.split([' ', '-']).find_map(|word| word.strip_suffix("GB")?.parse().ok());
        told.or(match self.name {
            "Tesla T4" => Some(16.0),
            "NVIDIA A10" | "NVIDIA A10G" | "NVIDIA A30" | "NVIDIA L4" => Some(24.0),
            "NVIDIA A40" | "NVIDIA RTX A6000" | "NVIDIA L40" | "NVIDIA L40S" => Some(48.0),
            "NVIDIA H100 PCIe" => Some(80.0),
            "NVIDIA H100 NVL" => Some(94.0),
            "NVIDIA H200" | "NVIDIA H200 NVL" => Some(141.0),
            _ => None,
        })
    }

    /// Its generation, by the word of its name that tells the card.
    pub fn generation(&self) -> Option<Generation> {
        self.name.split([' ', '-']).find_map(|word| match word {
            "V100" => Some(Generation::Volta),
            "T4" => Some(Generation::Turing),
            "A10" | "A10G" | "A30" | "A40" | "A100" | "A6000" => Some(Generation::Ampere),
            "L4" | "L40" | "L40S" => Some(Generation::Ada),
            "H100" | "H200" => Some(Generation::Hopper),
            "B200" | "GB200" => Some(Generation::Blackwell),
            _ => None,
        })
    }
}

const fn board(name: &'static str, watts: f64, nvlink: Option<f64>, pcie: Option<f64>) -> Board {
    Board { name, watts, nvlink, pcie }
}

/// Sixteen lanes of the third, fourth and fifth generation.
const GEN3: Option<f64> = Some(16.0e9);
const GEN4: Option<f64> = Some(32.0e9);
const GEN5: Option<f64> = Some(64.0e9);
/// Data sheets name the sum of both directions; this is one: of the bridge of workstation boards, of the second
/// generation, of the third (and of its bridges with half as many links), of the fourth, of the fifth.
const BRIDGE: Option<f64> = Some(56.25e9);
const LINK2: Option<f64> = Some(150.0e9);
const LINK3_HALF: Option<f64> = Some(100.0e9);
const LINK3: Option<f64> = Some(300.0e9);
const LINK4: Option<f64> = Some(450.0e9);
const LINK5: Option<f64> = Some(900.0e9);

/// Source: NVIDIA's data sheets; the largest power of a product's variants.
const BOARDS: &[Board] = &[
    board("Tesla T4", 70.0, None, GEN3),
    board("Tesla V100-PCIE-16GB", 250.0, None, GEN3),
    board("Tesla V100-PCIE-32GB", 250.0, None, GEN3),
    board("Tesla V100-SXM2-16GB", 300.0, LINK2, GEN3),
    board("Tesla V100-SXM2-32GB", 300.0, LINK2, GEN3),
    board("NVIDIA A10", 150.0, None, GEN4),
    board("NVIDIA A10G", 300.0, None, None),
    board("NVIDIA A30", 165.0, LINK3_HALF, GEN4),
    board("NVIDIA A40", 300.0, BRIDGE, GEN4),
    board("NVIDIA A100-PCIE-40GB", 250.0, LINK3, GEN4),
    board("NVIDIA A100 80GB PCIe", 300.0, LINK3, GEN4),
    board("NVIDIA A100-SXM4-40GB", 400.0, LINK3, GEN4),
    board("NVIDIA A100-SXM4-80GB", 400.0, LINK3, GEN4),
    board("NVIDIA RTX A6000", 300.0, BRIDGE, GEN4),
    board("NVIDIA L4", 72.0, None, GEN4),
    board("NVIDIA L40", 300.0, None, GEN4),
    board("NVIDIA L40S", 350.0, None, GEN4),
    board("NVIDIA H100 PCIe", 350.0, LINK3, GEN5),
    board("NVIDIA H100 NVL", 400.0, LINK3, GEN5),
    board("NVIDIA H100 80GB HBM3", 700.0, LINK4, GEN5),
    board("NVIDIA H200", 700.0, LINK4, GEN5),
    board("NVIDIA H200 NVL", 600.0, LINK4, GEN5),
    board("NVIDIA B200", 1_000.0, LINK5, None),
    board("NVIDIA GB200", 1_200.0, LINK5, None),
];

/// This product; none where it is not known. Names are compared whole: a card and its twin on another board differ by a
/// suffix and by half of the power.
pub fn board_of(model: &str) -> Option<&'static Board> {
    BOARDS.iter().find(|board| board.name == model)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NVIDIA's data sheets.
    #[test]
    fn the_memory_of_a_board_is_in_its_name_or_known() {
        let gigabytes = |model| board_of(model).and_then(Board::gigabytes);

        assert_eq!(gigabytes("NVIDIA H100 80GB HBM3"), Some(80.0));
        assert_eq!(gigabytes("NVIDIA A100-SXM4-40GB"), Some(40.0));
        assert_eq!(gigabytes("NVIDIA L4"), Some(24.0));
        assert_eq!(gigabytes("NVIDIA B200"), None);
    }

    #[test]
    fn each_board_in_the_table_has_a_generation() {
        let generation = |model| board_of(model).and_then(Board::generation);

        assert!(BOARDS.iter().all(|board| board.generation().is_some()));
        assert_eq!(generation("Tesla T4"), Some(Generation::Turing));
        assert_eq!(generation("NVIDIA A100-SXM4-40GB"), Some(Generation::Ampere));
        assert_eq!(generation("NVIDIA L40S"), Some(Generation::Ada));
        assert_eq!(generation("NVIDIA GB200"), Some(Generation::Blackwell));
    }

    #[test]
    fn boards_are_known_by_their_whole_name() {
        let known = |model| board_of(model).map(|board| (board.watts, board.nvlink, board.pcie));

        assert_eq!(known("NVIDIA H100 80GB HBM3"), Some((700.0, Some(450.0e9), Some(64.0e9))));
        assert_eq!(known("NVIDIA H100 PCIe"), Some((350.0, Some(300.0e9), Some(64.0e9))));
        assert_eq!(known("NVIDIA L40S"), Some((350.0, None, Some(32.0e9))));
        assert_eq!(known("NVIDIA H100"), None);
    }
}
