//! What a GPU of a known product can do, from the vendor's data sheets.

/// Limits of one GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Product {
    /// Peak bandwidth of its own memory, bytes a second.
    pub bandwidth: f64,
    /// Power limit, W.
    pub power_limit: f64,
    /// Power at rest, W.
    pub power_idle: f64,
    /// SM clock under load, MHz.
    pub clock: f64,
    /// Memory clock, MHz.
    pub memory_clock: f64,
    /// Memory as GFD labels it, MiB.
    pub memory_mib: u32,
}

/// Name parts and what they mean; the first that a product's name contains counts.
const PRODUCTS: [(&str, Product); 5] = [
    ("H200", product(4.8e12, 700.0, 75.0, 1980.0, 3201.0, 143_771)),
    ("H100", product(3.35e12, 700.0, 70.0, 1980.0, 2619.0, 81_559)),
    ("A100", product(2.04e12, 400.0, 55.0, 1410.0, 1593.0, 81_920)),
    ("L40S", product(0.864e12, 350.0, 35.0, 2520.0, 9001.0, 46_068)),
    ("L4", product(0.3e12, 72.0, 16.0, 2040.0, 6251.0, 23_034)),
];

impl Product {
    /// The product called `name`; an unknown one is taken for an H100.
    pub fn named(name: &str) -> Self {
        PRODUCTS.iter().find(|(part, _)| name.contains(part)).map_or(PRODUCTS[1].1, |(_, product)| *product)
    }
}

const fn product(bandwidth: f64, limit: f64, idle: f64, clock: f64, memory_clock: f64, memory_mib: u32) -> Product {
    Product { bandwidth, power_limit: limit, power_idle: idle, clock, memory_clock, memory_mib }
}
