//! What boards can do as they leave the factory: their power, where exporters do not send the limit in force, and their
//! links, which no exporter sends the peak of. What is not in the table can be configured.

use crate::config::BoardConfig;
use std::collections::BTreeMap;
use wellfed_engine::card::Generation;

/// One product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Board {
    /// Power limit, watts; none where nobody says.
    pub watts: Option<f64>,
    /// Peak of one direction of `NVLink`, bytes a second; none where the product has none.
    pub nvlink: Option<f64>,
    /// Peak of one direction of `PCIe`, bytes a second; none where the data sheet does not tell.
    pub pcie: Option<f64>,
    /// Its memory in gigabytes; none where the product is not known for one size.
    pub gigabytes: Option<f64>,
    /// Its generation; none where its name does not tell.
    pub generation: Option<Generation>,
}

/// Most names tell it.
fn gigabytes(name: &str) -> Option<f64> {
    let told = name.split([' ', '-']).find_map(|word| word.strip_suffix("GB")?.parse().ok());
    told.or(match name {
        "Tesla T4" => Some(16.0),
        "NVIDIA A10" | "NVIDIA A10G" | "NVIDIA A30" | "NVIDIA L4" => Some(24.0),
        "NVIDIA A40" | "NVIDIA RTX A6000" | "NVIDIA RTX 6000 Ada Generation" | "NVIDIA L40" | "NVIDIA L40S" => {
            Some(48.0)
        }
        "NVIDIA H100 PCIe" => Some(80.0),
        "NVIDIA H100 NVL" => Some(94.0),
        "NVIDIA H200" | "NVIDIA H200 NVL" => Some(141.0),
        _ => None,
    })
}

/// Its generation, by the word of its name that tells the card.
fn generation(name: &str) -> Option<Generation> {
    name.split([' ', '-']).find_map(|word| match word {
        "V100" => Some(Generation::Volta),
        "T4" => Some(Generation::Turing),
        "A10" | "A10G" | "A30" | "A40" | "A100" | "A6000" => Some(Generation::Ampere),
        "L4" | "L40" | "L40S" | "Ada" => Some(Generation::Ada),
        "H20" | "H100" | "H200" => Some(Generation::Hopper),
        "B200" | "GB200" => Some(Generation::Blackwell),
        _ => None,
    })
}

/// `modelName` as the driver gives it, watts, and one direction of its links.
type Sheet = (&'static str, f64, Option<f64>, Option<f64>);

const fn board(name: &'static str, watts: f64, nvlink: Option<f64>, pcie: Option<f64>) -> Sheet {
    (name, watts, nvlink, pcie)
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
const BOARDS: &[Sheet] = &[
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
    board("NVIDIA RTX 6000 Ada Generation", 300.0, None, GEN4),
    board("NVIDIA L4", 72.0, None, GEN4),
    board("NVIDIA L40", 300.0, None, GEN4),
    board("NVIDIA L40S", 350.0, None, GEN4),
    board("NVIDIA H100 PCIe", 350.0, LINK3, GEN5),
    board("NVIDIA H100 NVL", 400.0, LINK3, GEN5),
    board("NVIDIA H100 80GB HBM3", 700.0, LINK4, GEN5),
    board("NVIDIA H20", 400.0, LINK4, GEN5),
    board("NVIDIA H200", 700.0, LINK4, GEN5),
    board("NVIDIA H200 NVL", 600.0, LINK4, GEN5),
    board("NVIDIA B200", 1_000.0, LINK5, None),
    board("NVIDIA GB200", 1_200.0, LINK5, None),
];

/// This product; none where it is not known. Names are compared whole: a card and its twin on another board differ by a
/// suffix and by half of the power.
pub fn board_of(model: &str, configured: &Boards) -> Option<Board> {
    let known = BOARDS.iter().find(|sheet| sheet.0 == model);
    let known = known.map(|(_, watts, nvlink, pcie)| (Some(*watts), *nvlink, *pcie));
    let said = configured.get(model);
    let (watts, nvlink, pcie) = match (known, said) {
        (None, None) => return None,
        (known, said) => {
            let (watts, nvlink, pcie) = known.unwrap_or_default();
            let gigabytes = |said: Option<u32>| said.map(|said| f64::from(said) * 1e9);
            let said = said.copied().unwrap_or_default();
            (said.power.map(f64::from).or(watts), gigabytes(said.nvlink).or(nvlink), gigabytes(said.pcie).or(pcie))
        }
    };
    Some(Board { watts, nvlink, pcie, gigabytes: gigabytes(model), generation: generation(model) })
}

/// What is configured, by product.
pub type Boards = BTreeMap<String, BoardConfig>;

#[cfg(test)]
mod tests {
    use super::*;

    /// NVIDIA's data sheets.
    #[test]
    fn the_memory_of_a_board_is_in_its_name_or_known() {
        let gigabytes = |model| board_of(model, &Boards::new()).and_then(|board| board.gigabytes);

        assert_eq!(gigabytes("NVIDIA H100 80GB HBM3"), Some(80.0));
        assert_eq!(gigabytes("NVIDIA A100-SXM4-40GB"), Some(40.0));
        assert_eq!(gigabytes("NVIDIA L4"), Some(24.0));
        assert_eq!(gigabytes("NVIDIA B200"), None);
    }

    #[test]
    fn each_board_in_the_table_has_a_generation() {
        assert!(BOARDS.iter().all(|(name, ..)| generation(name).is_some()));
        assert_eq!(generation("Tesla T4"), Some(Generation::Turing));
        assert_eq!(generation("NVIDIA A100-SXM4-40GB"), Some(Generation::Ampere));
        assert_eq!(generation("NVIDIA L40S"), Some(Generation::Ada));
        assert_eq!(generation("NVIDIA GB200"), Some(Generation::Blackwell));
        assert_eq!(generation("NVIDIA RTX 6000 Ada Generation"), Some(Generation::Ada));
    }

    #[test]
    fn boards_are_known_by_their_whole_name() {
        let known = |model| board_of(model, &Boards::new()).map(|board| (board.watts, board.nvlink, board.pcie));

        assert_eq!(known("NVIDIA H100 80GB HBM3"), Some((Some(700.0), Some(450.0e9), Some(64.0e9))));
        assert_eq!(known("NVIDIA H100 PCIe"), Some((Some(350.0), Some(300.0e9), Some(64.0e9))));
        assert_eq!(known("NVIDIA L40S"), Some((Some(350.0), None, Some(32.0e9))));
        assert_eq!(known("NVIDIA H100"), None);
    }

    #[test]
    fn what_is_configured_adds_a_product_and_corrects_one() {
        let new = BoardConfig { nvlink: Some(900), pcie: None, power: Some(1_100) };
        let capped = BoardConfig { power: Some(500), ..BoardConfig::default() };
        let configured = Boards::from([("NVIDIA B300".to_owned(), new), ("NVIDIA H100 80GB HBM3".to_owned(), capped)]);
        let known = |model| board_of(model, &configured).map(|board| (board.watts, board.nvlink, board.pcie));

        assert_eq!(known("NVIDIA B300"), Some((Some(1_100.0), Some(900.0e9), None)));
        assert_eq!(known("NVIDIA H100 80GB HBM3"), Some((Some(500.0), Some(450.0e9), Some(64.0e9))));
    }
}
