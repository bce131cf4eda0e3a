use super::root;
use std::fs;
use std::path::PathBuf;

/// Labels of hosts: dcgm-exporter #655 renamed `Hostname` to `hostname`, and a query that groups by the one that is not there
/// makes one of the GPUs of all nodes.
const OF_HOSTS: [&str; 2] = ["hostname", "host"];

#[test]
fn no_page_groups_by_a_host_label() {
    let pages = pages();
    assert!(pages.iter().any(|page| page.ends_with("findings/Throttled.md")), "{pages:?}");
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        let by_host: Vec<_> = groups(&text).filter(|label| OF_HOSTS.contains(&label.as_str())).collect();
        assert_eq!(by_host, Vec::<String>::new(), "{}: group by UUID", page.display());
    }
}

/// Every page of the book.
fn pages() -> Vec<PathBuf> {
    let folders = [root().join("docs"), root().join("docs/findings")];
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|file| file.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|kind| kind == "md")).collect()
}

/// The labels by which queries group or match, in small letters.
fn groups(text: &str) -> impl Iterator<Item = String> {
    let lists = ["by", "without", "on", "ignoring"].into_iter().flat_map(move |word| {
        let ends = text.match_indices(word).map(|(at, _)| &text[at + word.len()..]);
        ends.filter_map(|rest| rest.trim_start().strip_prefix('(')?.split_once(')').map(|(list, _)| list))
    });
    lists.flat_map(|list| list.split(',').map(|label| label.trim().to_lowercase()))
}
