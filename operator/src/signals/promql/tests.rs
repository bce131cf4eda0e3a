use std::collections::BTreeMap;

use proptest::prelude::*;

use super::selectors::each_selector;
use super::*;

fn enforced(text: &str) -> String {
    enforce(&parse(text).unwrap(), "namespace", "team-a").unwrap().to_string()
}

fn refused(text: &str) -> QueryError {
    enforce(&parse(text).unwrap(), "namespace", "team-a").unwrap_err()
}

#[test]
fn every_selector_of_a_query_gets_the_namespace_wherever_it_stands() {
    for (given, sent) in [
        ("queue", r#"queue{namespace="team-a"}"#),
        (r#"queue{app="x"}"#, r#"queue{app="x",namespace="team-a"}"#),
        ("queue[5m:1m]", r#"queue{namespace="team-a"}[5m:1m]"#),
        ("rate(queue[5m])", r#"rate(queue{namespace="team-a"}[5m])"#),
        ("a + b", r#"a{namespace="team-a"} + b{namespace="team-a"}"#),
        (
            "max_over_time(rate(a[1m])[10m:] offset 1h)",
            r#"max_over_time(rate(a{namespace="team-a"}[1m])[10m:] offset 1h)"#,
        ),
        ("a offset 5m @ 100", r#"a{namespace="team-a"} @ 100.000 offset 5m"#),
        ("sum by (pod) (a)", r#"sum by (pod) (a{namespace="team-a"})"#),
        ("sum(a) without (pod)", r#"sum without (pod) (a{namespace="team-a"})"#),
        ("absent(a)", r#"absent(a{namespace="team-a"})"#),
        ("-a ^ 2", r#"-a{namespace="team-a"} ^ 2"#),
        (
            "a * on (pod) group_left (node) b",
            r#"a{namespace="team-a"} * on (pod) group_left (node) b{namespace="team-a"}"#,
        ),
        (r#"{__name__=~".+"}"#, r#"{__name__=~".+",namespace="team-a"}"#),
        (r#"{"dotted.name"}"#, r#"{__name__="dotted.name",namespace="team-a"}"#),
        ("a # namespace=\"other\"", r#"a{namespace="team-a"}"#),
        ("a unless b or c", r#"a{namespace="team-a"} unless b{namespace="team-a"} or c{namespace="team-a"}"#),
        ("vector(1)", "vector(1)"),
    ] {
        assert_eq!(enforced(given), sent);
    }
}

#[test]
fn a_selector_hidden_in_the_parameter_of_an_aggregation_is_found_too() {
    assert_eq!(
        enforced("topk(scalar(secret), a)"),
        r#"topk(scalar(secret{namespace="team-a"}), a{namespace="team-a"})"#
    );
    assert!(matches!(refused(r#"quantile(scalar(secret{namespace="team-b"}), a)"#), QueryError::OtherNamespace { .. }));
}

#[test]
fn ones_own_namespace_may_be_named_and_appears_once() {
    for own in [r#"a{namespace="team-a"}"#, r#"a{namespace=~"team-a"}"#, r#"a{namespace='team-a', namespace="team-a"}"#]
    {
        assert_eq!(enforced(own), r#"a{namespace="team-a"}"#);
    }
}

#[test]
fn another_namespace_is_refused_however_it_is_written() {
    for (text, found) in [
        (r#"a{namespace="team-b"}"#, r#"namespace="team-b""#),
        (r#"a + b{namespace="team-b"}"#, r#"namespace="team-b""#),
        (r#"a{namespace!="team-b"}"#, r#"namespace!="team-b""#),
        (r#"a{namespace=~"team-.*"}"#, r#"namespace=~"team-.*""#),
        (r#"a{namespace!~"team-a"}"#, r#"namespace!~"team-a""#),
        (r#"a{namespace=""}"#, r#"namespace="""#),
        (r#"a{namespace="team-a",namespace="team-b"}"#, r#"namespace="team-b""#),
        (r#"a{"namespace"="team-b"}"#, r#"namespace="team-b""#),
        (r#"a{namespace="team\x2db"}"#, r#"namespace="team-b""#),
        ("rate(a{namespace=`team-b`}[1m])", r#"namespace="team-b""#),
    ] {
        assert_eq!(refused(text), QueryError::OtherNamespace { found: found.into(), own: "team-a".into() });
    }
}

#[test]
fn the_refusal_says_what_to_do() {
    assert_eq!(
        refused(r#"a{namespace="team-b"}"#).to_string(),
        "the query selects namespace=\"team-b\", but a GpuWorkload in namespace `team-a` reads only its own namespace: \
         remove that matcher (`team-a` is added to every selector), or ask the administrator to allow cluster queries"
    );
}

#[test]
fn info_is_refused_because_it_reads_what_no_matcher_reaches() {
    assert_eq!(refused("sum(info(a))"), QueryError::Info);
}

#[test]
fn or_between_matchers_is_refused_because_a_matcher_would_bind_to_one_side_only() {
    let error = parse(r#"{__name__="a" or namespace="team-b"}"#).unwrap_err();

    assert!(matches!(error, QueryError::OrMatchers { .. }), "{error}");
}

#[test]
fn label_values_are_escaped() {
    let evil = r#"x"} or b{y="\"#;
    let query = parse("a").unwrap();

    let sent = with_matchers(&query, &BTreeMap::from([("cluster".to_owned(), evil.to_owned())])).unwrap();

    assert_eq!(sent.text(), r#"a{cluster="x\"} or b{y=\"\\"}"#);
}

#[test]
fn the_administrators_matchers_narrow_and_never_replace() {
    let extra = BTreeMap::from([("cluster".to_owned(), "eu".to_owned()), ("env".to_owned(), "prod".to_owned())]);
    let query = parse(r#"a{cluster="us"} / topk(scalar(b), c)"#).unwrap();

    let sent = with_matchers(&query, &extra).unwrap();

    assert_eq!(
        sent.text(),
        r#"a{cluster="eu",cluster="us",env="prod"} / topk(scalar(b{cluster="eu",env="prod"}), c{cluster="eu",env="prod"})"#
    );
}

#[test]
fn ages_asks_once_for_each_distinct_selector_and_leaves_offsets_out() {
    for (text, expected) in [
        ("a", vec!["timestamp(a)"]),
        ("rate(a[5m]) / a + b", vec!["timestamp(a)", "timestamp(b)"]),
        ("rate(a[5m] offset 1h) + a @ 100 + a @ end()", vec!["timestamp(a)"]),
        (r#"a{x="1"} + a{x="2"}"#, vec![r#"timestamp(a{x="1"})"#, r#"timestamp(a{x="2"})"#]),
        (r#"a{x="1",y="2"} + a{y="2",x="1"}"#, vec![r#"timestamp(a{x="1",y="2"})"#]),
        ("time()", vec![]),
    ] {
        assert_eq!(ages(&parse(text).unwrap()), expected, "{text}");
    }
}

#[test]
fn equal_queries_get_equal_texts() {
    for (one, other) in [
        (r#"a{x="1",y="2"}"#, "a { y = '2' , x = `1` } # same"),
        ("sum(a)", "sum by () (a)"),
        ("a + b", "a + ignoring () b"),
        ("sum by (pod) (a)", "sum(a) by (pod)"),
        ("rate(a[300s])", "rate(a[5m])"),
    ] {
        assert_eq!(parse(one).unwrap(), parse(other).unwrap());
    }
}

#[test]
fn a_mistake_is_shown_where_it_stands() {
    for (text, place, near) in [
        ("", 1, "end of the query"),
        ("a + $b", 5, "$b"),
        ("sum(rate(a[5m])", 4, "(rate(a[5m])"),
        ("(a) + (b", 7, "(b"),
        ("sum(a))", 7, ")"),
        ("sum(a b)", 7, "b)"),
        ("a b", 3, "b"),
        ("sum by pod (a)", 8, "pod (a)"),
        ("rate(a[5m)", 10, ")"),
        ("rate(a[5 m])", 10, "m])"),
        (r#"a{x="y}"#, 5, r#""y}"#),
        ("a{x=y}", 5, "y}"),
        ("nosuch(a)", 1, "nosuch(a)"),
        ("1 + rate(a)", 5, "rate(a)"),
        ("größe + é", 3, "öße + é"),
    ] {
        match parse(text).unwrap_err() {
            QueryError::Syntax { at, near: found, .. } => assert_eq!((at, found.as_str()), (place, near), "{text}"),
            other => panic!("{text}: {other}"),
        }
    }
}

#[test]
fn the_reason_is_in_plain_words() {
    for (text, message) in [
        ("  ", "not PromQL at character 1 (near `end of the query`): the query is empty"),
        ("nosuch(a)", "not PromQL at character 1 (near `nosuch(a)`): unknown function with name 'nosuch'"),
        (
            "a b",
            "not PromQL at character 3 (near `b`): this can't stand here; check operators, brackets and quotes just before it",
        ),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), message);
    }
}

#[test]
fn a_query_that_would_break_the_parser_is_refused_like_any_other() {
    assert!(matches!(parse("a[99999999999999999999999]").unwrap_err(), QueryError::Syntax { .. }));
    assert!(matches!(parse(&"(".repeat(MAX_BYTES + 1)).unwrap_err(), QueryError::TooLong { bytes: 8193 }));
    assert!(matches!(parse(&format!("a{}", "+a".repeat(1000))).unwrap_err(), QueryError::TooLong { .. }));
}

#[test]
fn the_longest_query_fits_the_stack_of_a_worker_thread() {
    let nested = format!("{}a{}", "-(".repeat(340), ")".repeat(340));
    let chained = format!("a{}", "+a".repeat(500));

    for text in [nested, chained] {
        let worker = std::thread::Builder::new().stack_size(2 * 1024 * 1024);
        let sent = worker.spawn(move || enforced(&text)).unwrap().join().unwrap();
        assert!(sent.contains(r#"a{namespace="team-a"}"#));
    }
}

/// Any expression that yields an instant vector, from pieces that each hide a selector in another place.
fn vector() -> impl Strategy<Value = String> {
    let matcher = ("[a-z]{1,4}", "=|!=|=~|!~", r#"[a-z"\\\n}]{0,4}"#)
        .prop_map(|(label, op, value)| format!("l_{label}{op}{:?}", value.replace(['\\', '}'], "")));
    let selector = ("m_[a-z]{1,4}", prop::collection::vec(matcher, 0..3), "| offset 5m| @ 100| @ end\\(\\)")
        .prop_map(|(name, matchers, when)| format!("{name}{{{}}}{when}", matchers.join(",")));
    selector.prop_recursive(4, 24, 3, |inner| {
        let one = inner.clone();
        prop_oneof![
            (one.clone(), "abs|ceil|absent|timestamp").prop_map(|(v, f)| format!("{f}({v})")),
            (one.clone(), "sum|max|count").prop_map(|(v, f)| format!("{f} by (pod) ({v})")),
            (one.clone(), inner.clone()).prop_map(|(v, p)| format!("topk(scalar({p}), {v})")),
            (one.clone(), inner.clone(), r"\+|-|\*|/|\^|and|or|unless|== bool|> on \(pod\) group_left \(\)")
                .prop_map(|(a, b, op)| format!("({a}) {op} ({b})")),
            one.clone().prop_map(|v| format!("max_over_time(({v})[10m:1m] offset 1m)")),
            "m_[a-z]{1,3}".prop_map(|m| format!("rate({m}[5m])")),
            one.prop_map(|v| format!("-({v})")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Kills: a walk that skips an aggregation's parameter, a range selector or a subquery; a printer that loses a matcher.
    #[test]
    fn the_enforced_text_parses_again_and_no_selector_in_it_lacks_the_matcher(text in vector()) {
        let sent = enforced(&text);

        let again = promql_parser::parser::parse(&sent).unwrap();
        let wanted = r#"namespace="team-a""#;
        for selector in each_selector(&again) {
            prop_assert!(selector.matchers.matchers.iter().any(|m| m.to_string() == wanted), "{selector} in {sent}");
        }
        // Counted without the walk under test: a metric's name starts with `m_`.
        prop_assert_eq!(sent.matches(wanted).count(), text.matches("m_").count());
    }

    /// Kills: a slice at a byte that is no character boundary, an unwrap on a strange token.
    #[test]
    fn no_text_makes_the_reader_panic(text in r#"[-a-z0-9(){}\[\]"'`=~!,:+*/^@# \\é😀]{0,40}"#) {
        if let Err(QueryError::Syntax { at, .. }) = parse(&text) {
            prop_assert!(at <= text.chars().count() + 1);
        }
    }
}
