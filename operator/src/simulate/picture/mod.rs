//! The report as a picture: what came in, what each policy ran for it, and what requests got.

mod panel;
mod scale;

use super::error::SimulateError;
use super::report::{PolicyReport, Report, WorkloadReport};
use super::rivals::Policy;
use super::series::Point;
use panel::{Area, Failed, Line, Panel};
use plotters::prelude::{Color, IntoDrawingArea, IntoFont, RGBColor, Rectangle, SVGBackend, Text, WHITE};
use plotters::style::TextStyle;
use scale::{Clock, Scale};

const WIDTH: u32 = 1200;
/// Heights of the title, of a row of the legend, and of the panels of one workload, pixels.
const TITLE: u32 = 40;
const ROW: u32 = 24;
const PANELS: [u32; 3] = [150, 260, 220];
/// Where the second column of the legend begins, pixels.
const COLUMN: i32 = 600;

const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
const LOAD: RGBColor = RGBColor(0x8a, 0x8f, 0x99);
const HELD: RGBColor = RGBColor(0xd5, 0x5e, 0x00);

/// One SVG, one workload below the other. Text is left to the viewer's own fonts.
pub fn draw(report: &Report) -> Result<String, SimulateError> {
    let whole = report.workloads.iter().map(height).sum::<u32>().max(1);
    let mut svg = String::new();
    {
        let mut rest = SVGBackend::with_string(&mut svg, (WIDTH, whole)).into_drawing_area();
        let failed = |workload: &str, problem: Failed| SimulateError::Draw {
            workload: workload.to_owned(),
            problem: problem.to_string(),
        };
        rest.fill(&WHITE).map_err(|error| failed(&report.scenario, error))?;
        for workload in &report.workloads {
            let (own, below) = rest.split_vertically(height(workload));
            draw_one(&own, report, workload).map_err(|error| failed(&workload.name, error))?;
            rest = below;
        }
        rest.present().map_err(|error| failed(&report.scenario, error))?;
    }
    Ok(svg)
}

fn height(workload: &WorkloadReport) -> u32 {
    TITLE + legend_height(workload) + PANELS.iter().sum::<u32>()
}

fn legend_height(workload: &WorkloadReport) -> u32 {
    // Two more for what is shaded.
    ROW * u32::try_from((workload.policies.len() + 2).div_ceil(2)).unwrap_or(1)
}

fn draw_one(area: &Area<'_>, report: &Report, workload: &WorkloadReport) -> Result<(), Failed> {
    let (title, rest) = area.split_vertically(TITLE);
    let slo = workload.slo_seconds.map(|slo| format!(", requests should take at most {slo} s")).unwrap_or_default();
    let text = format!("{} ({}){slo}", workload.name, report.scenario);
    title.draw(&Text::new(text, (14, 12), bold(22)))?;
    let (legend, mut rest) = rest.split_vertically(legend_height(workload));
    draw_legend(&legend, workload)?;
    let clock = Clock::of(report.seconds);
    let needed = needed(report, workload);
    let last = PANELS.len() - 1;
    for (at, panel) in [load(workload), replicas(workload, &needed), felt(workload)].into_iter().enumerate() {
        let (own, below) = rest.split_vertically(PANELS[at]);
        panel.draw(&own, clock, at == last)?;
        rest = below;
    }
    Ok(())
}

fn bold(size: i32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().style(plotters::style::FontStyle::Bold).color(&INK)
}

fn plain(size: i32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&INK)
}

/// Colours that people with any kind of sight tell apart (Okabe and Ito).
const fn colour(policy: Policy) -> RGBColor {
    match policy {
        Policy::Wellfed => RGBColor(0x00, 0x72, 0xb2),
        Policy::WellfedWithoutGate => RGBColor(0x56, 0xb4, 0xe9),
        Policy::AlwaysOn => RGBColor(0x99, 0x99, 0x99),
        Policy::HpaUtilisation => RGBColor(0xcc, 0x79, 0xa7),
        Policy::HpaQueue => RGBColor(0x00, 0x9e, 0x73),
        Policy::HpaPods => RGBColor(0xd5, 0x5e, 0x00),
        Policy::Keda => RGBColor(0xe6, 0x9f, 0x00),
    }
}

fn draw_legend(area: &Area<'_>, workload: &WorkloadReport) -> Result<(), Failed> {
    let place = |at: usize| {
        let at = i32::try_from(at).unwrap_or(0);
        (16 + at % 2 * COLUMN, at / 2 * i32::try_from(ROW).unwrap_or(0))
    };
    let entry = |at: usize, colour: plotters::style::RGBAColor, text: String| {
        let (x, y) = place(at);
        area.draw(&Rectangle::new([(x, y + 4), (x + 22, y + 16)], colour.filled()))?;
        area.draw(&Text::new(text, (x + 30, y + 4), plain(16)))
    };
    for (at, one) in workload.policies.iter().enumerate() {
        let figures = &one.figures;
        let text = format!("{}: {:.0} GPU-hours, cost {:.0}", one.policy.name(), figures.gpu_hours, figures.cost);
        let over = figures.time_over_slo.map(|share| format!(", over SLO {:.2} % of time", share * 100.0));
        entry(at, colour(one.policy).to_rgba(), text + &over.unwrap_or_default())?;
    }
    let best = &workload.optimum;
    let text = format!("optimum in hindsight: {:.0} GPU-hours, cost {:.0}", best.gpu_hours, best.cost);
    entry(workload.policies.len(), LOAD.mix(0.5), text)?;
    entry(workload.policies.len() + 1, HELD.mix(0.25), "wellfed's gate holds growth".to_owned())
}

fn load(workload: &WorkloadReport) -> Panel<'_> {
    let what = if workload.training { "samples" } else { "requests" };
    let title = format!("Load: {what} that arrive a second");
    // The same for every policy.
    let points = workload.policies.first().map_or(&[][..], |one| &one.points);
    let line = Line::new(LOAD, points, |point| Some(point.load)).filled();
    Panel {
        title,
        scale: Scale::from_zero(std::slice::from_ref(&line)),
        lines: vec![line],
        held: Vec::new(),
        limit: None,
    }
}

/// The optimum's replicas over time.
fn needed(report: &Report, workload: &WorkloadReport) -> Vec<Point> {
    let replicas = &workload.optimum.replicas;
    let width = report.seconds / replicas.len().max(1) as f64;
    let point = |(at, ready): (usize, &f64)| Point { at: at as f64 * width, ready: *ready, ..Point::default() };
    replicas.iter().enumerate().map(point).collect()
}

fn replicas<'a>(workload: &'a WorkloadReport, needed: &'a [Point]) -> Panel<'a> {
    let ready: fn(&Point) -> Option<f64> = |point| Some(point.ready);
    let mut lines = lines(workload, ready);
    lines.insert(0, Line::new(LOAD, needed, ready).filled());
    let held = workload.policies.iter().find(|one| one.policy == Policy::Wellfed).map_or_else(Vec::new, held);
    let title = "Replicas that are Ready".to_owned();
    Panel { title, scale: Scale::from_zero(&lines), lines, held, limit: None }
}

/// What requests get: how long they take. For samples: how many wait.
fn felt(workload: &WorkloadReport) -> Panel<'_> {
    if workload.training {
        let lines = lines(workload, |point| Some(point.queue));
        let title = "Samples that wait".to_owned();
        return Panel { title, scale: Scale::from_zero(&lines), lines, held: Vec::new(), limit: None };
    }
    let lines = lines(workload, |point| point.latency);
    let title = "Longest time that a request takes, seconds".to_owned();
    let limit = workload.slo_seconds;
    Panel { title, scale: Scale::decades(&lines, limit), lines, held: Vec::new(), limit }
}

/// One line a policy, wellfed's on top.
fn lines(workload: &WorkloadReport, value: fn(&Point) -> Option<f64>) -> Vec<Line<'_>> {
    let of = |one| {
        let one: &PolicyReport = one;
        let line = Line::new(colour(one.policy), &one.points, value);
        if one.policy == Policy::Wellfed { line.thick() } else { line }
    };
    workload.policies.iter().rev().map(of).collect()
}

/// The stretches of time in which the gate held growth.
fn held(wellfed: &PolicyReport) -> Vec<(f64, f64)> {
    let mut stretches: Vec<(f64, f64)> = Vec::new();
    let width = wellfed.points.get(1).map_or(1.0, |second| second.at);
    for point in wellfed.points.iter().filter(|point| point.refused > 0.0) {
        let until = point.at + width;
        match stretches.last_mut().filter(|last| last.1 >= point.at) {
            Some(last) => last.1 = until,
            None => stretches.push((point.at, until)),
        }
    }
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::figures::Figures;

    #[test]
    fn held_points_beside_each_other_are_one_stretch() {
        let point = |(at, refused)| Point { at, refused, ..Point::default() };
        let points = [(0.0, 0.0), (10.0, 0.5), (20.0, 1.0), (30.0, 0.0), (40.0, 0.1)].map(point).to_vec();

        let stretches = held(&PolicyReport { policy: Policy::Wellfed, figures: Figures::default(), points });

        assert_eq!(stretches, [(10.0, 30.0), (40.0, 50.0)]);
    }
}
