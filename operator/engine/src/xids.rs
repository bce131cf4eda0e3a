//! Which XIDs, the numbers of the driver's errors, tell of the hardware.

/// Those whose immediate resolution is to reset the GPU or to restart the machine, and those of memory and links that the
/// vendor's own health check fails on; not those that a program causes itself.
///
/// Source: NVIDIA's XID catalogue (docs.nvidia.com/deploy/xid-errors) of 2025-10-29: the buckets `RESET_GPU` and
/// `RESTART_BM`, with 48, 74 and 144 to 150 of `WORKFLOW`; 63 (a row waits to be remapped), 92 (many errors that were
/// corrected) and 94 (an error that was contained), which operators of large fleets drain on.
const OF_HARDWARE: [u16; 27] = [
    46, 48, 62, 63, 64, 74, 79, 92, 94, 95, 109, 110, 119, 120, 136, 140, 143, 144, 145, 146, 147, 148, 149, 150, 155,
    156, 158,
];

/// Whether this error is one of the hardware.
pub fn is_of_hardware(xid: u16) -> bool {
    OF_HARDWARE.contains(&xid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_that_fell_off_the_bus_is_hardware_and_a_program_that_reads_beyond_its_memory_is_not() {
        assert_eq!([79, 48, 94, 95, 119].map(is_of_hardware), [true; 5]);
        assert_eq!([0, 13, 31, 43, 45, 68].map(is_of_hardware), [false; 6]);
        assert!(OF_HARDWARE.is_sorted());
    }
}
