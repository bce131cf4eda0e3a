//! Walks a query's tree, every part of it.
//!
//! The parser's own visitor passes over the parameter of an aggregation, so `topk(scalar(secret), x)` would escape a
//! matcher. These walks match exhaustively: a new kind of node does not compile until it is thought of here.

use promql_parser::label::Matcher;
use promql_parser::parser::{BinModifier, Expr, LabelModifier, VectorSelector};

use super::QueryError;

/// Every selector: instant, range, and inside whatever holds one.
pub(super) fn each_selector(expr: &Expr) -> impl Iterator<Item = &VectorSelector> {
    nodes(expr).into_iter().filter_map(|node| match node {
        Expr::VectorSelector(selector) => Some(selector),
        Expr::MatrixSelector(range) => Some(&range.vs),
        _ => None,
    })
}

/// The name of every function that is called.
pub(super) fn each_call(expr: &Expr) -> impl Iterator<Item = &'static str> {
    nodes(expr).into_iter().filter_map(|node| if let Expr::Call(call) = node { Some(call.func.name) } else { None })
}

/// Changes every selector; the first refusal ends the walk.
pub(super) fn each_selector_mut<F>(expr: &mut Expr, change: &mut F) -> Result<(), QueryError>
where
    F: FnMut(&mut VectorSelector) -> Result<(), QueryError>,
{
    match expr {
        Expr::VectorSelector(selector) => change(selector),
        Expr::MatrixSelector(range) => change(&mut range.vs),
        _ => children_mut(expr).into_iter().try_for_each(|child| each_selector_mut(child, change)),
    }
}

/// Brings equal queries to one form: matchers sorted, groupings that say nothing dropped.
pub(super) fn canonical(expr: &mut Expr) {
    match expr {
        Expr::VectorSelector(selector) => sort(&mut selector.matchers.matchers),
        Expr::MatrixSelector(range) => sort(&mut range.vs.matchers.matchers),
        Expr::Aggregate(aggregate) if aggregate.modifier.as_ref().is_some_and(by_nothing) => aggregate.modifier = None,
        Expr::Binary(binary) => {
            binary.modifier.as_mut().into_iter().for_each(drop_ignoring_nothing);
            binary.modifier.take_if(|modifier| *modifier == BinModifier::default());
        }
        _ => {}
    }
    children_mut(expr).into_iter().for_each(canonical);
}

fn sort(matchers: &mut Vec<Matcher>) {
    matchers.sort_by_cached_key(ToString::to_string);
    matchers.dedup();
}

fn by_nothing(modifier: &LabelModifier) -> bool {
    modifier.is_include() && modifier.labels().is_empty()
}

fn drop_ignoring_nothing(modifier: &mut BinModifier) {
    modifier.matching.take_if(|matching| !matching.is_include() && matching.labels().is_empty());
}

fn nodes(expr: &Expr) -> Vec<&Expr> {
    let mut found = vec![expr];
    let mut next = 0;
    while let Some(node) = found.get(next).copied() {
        found.extend(children(node));
        next += 1;
    }
    found
}

fn children(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Aggregate(it) => it.param.iter().chain([&it.expr]).map(|child| &**child).collect(),
        Expr::Unary(it) => vec![&it.expr],
        Expr::Binary(it) => vec![&it.lhs, &it.rhs],
        Expr::Paren(it) => vec![&it.expr],
        Expr::Subquery(it) => vec![&it.expr],
        Expr::Call(it) => it.args.args.iter().map(|child| &**child).collect(),
        // The parser makes no extensions; a program could, and then their children would be its own affair.
        Expr::NumberLiteral(_)
        | Expr::StringLiteral(_)
        | Expr::VectorSelector(_)
        | Expr::MatrixSelector(_)
        | Expr::Extension(_) => vec![],
    }
}

fn children_mut(expr: &mut Expr) -> Vec<&mut Expr> {
    match expr {
        Expr::Aggregate(it) => it.param.iter_mut().chain([&mut it.expr]).map(|child| &mut **child).collect(),
        Expr::Unary(it) => vec![&mut it.expr],
        Expr::Binary(it) => vec![&mut it.lhs, &mut it.rhs],
        Expr::Paren(it) => vec![&mut it.expr],
        Expr::Subquery(it) => vec![&mut it.expr],
        Expr::Call(it) => it.args.args.iter_mut().map(|child| &mut **child).collect(),
        Expr::NumberLiteral(_)
        | Expr::StringLiteral(_)
        | Expr::VectorSelector(_)
        | Expr::MatrixSelector(_)
        | Expr::Extension(_) => vec![],
    }
}
