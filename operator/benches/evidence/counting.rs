//! The operator's allocator, counted.

#![allow(unsafe_code, reason = "an allocator cannot be written without; each call is handed on as it is")]

use mimalloc::MiMalloc;
use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static CALLS: AtomicUsize = AtomicUsize::new(0);

/// As in the operator's binary, with a count.
pub struct Counting;

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Relaxed);
        let live = LIVE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(live, Relaxed);
        unsafe { MiMalloc.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        unsafe { MiMalloc.dealloc(place, layout) }
    }
}

/// What `work` gives, and how many bytes were allocated at once while it ran, beyond those before it.
pub async fn peak<T>(work: impl Future<Output = T>) -> (T, usize) {
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    let done = work.await;
    (done, PEAK.load(Relaxed) - before)
}

/// Bytes that are allocated now.
pub fn live() -> usize {
    LIVE.load(Relaxed)
}

/// How often `work` allocated.
pub fn calls<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = CALLS.load(Relaxed);
    let done = work();
    (done, CALLS.load(Relaxed) - before)
}
