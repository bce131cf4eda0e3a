//! One panel: a few lines over time, with what is shaded and what is a limit.

use super::scale::{Clock, Scale, short};
use super::{HELD, INK, bold, plain};
use crate::simulate::series::Point;
use plotters::chart::ChartContext;
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind};
use plotters::prelude::{
    AreaSeries, Cartesian2d, ChartBuilder, Color, DashedLineSeries, LineSeries, RGBColor, Rectangle, SVGBackend,
    ShapeStyle,
};
use std::io;

/// A part of the picture.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// Why something could not be drawn.
pub type Failed = DrawingAreaErrorKind<io::Error>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// One line over time.
#[derive(Clone)]
pub struct Line<'a> {
    colour: RGBColor,
    points: &'a [Point],
    value: fn(&Point) -> Option<f64>,
    width: u32,
    filled: bool,
}

impl<'a> Line<'a> {
    /// `value` of each of `points`.
    pub const fn new(colour: RGBColor, points: &'a [Point], value: fn(&Point) -> Option<f64>) -> Self {
        Self { colour, points, value, width: 2, filled: false }
    }

    /// To be seen first.
    pub const fn thick(self) -> Self {
        Self { width: 4, ..self }
    }

    /// With what is below it filled.
    pub const fn filled(self) -> Self {
        Self { filled: true, width: 1, ..self }
    }

    /// Its values.
    pub fn values(&self) -> impl Iterator<Item = f64> {
        self.points.iter().filter_map(self.value)
    }

    fn drawn(&self, clock: Clock, scale: Scale) -> impl Iterator<Item = (f64, f64)> {
        let place = move |point: &Point| Some((point.at / clock.seconds, scale.height((self.value)(point)?)));
        self.points.iter().filter_map(place)
    }
}

/// One panel.
pub struct Panel<'a> {
    /// What is shown, and its unit.
    pub title: String,
    /// The height of a value.
    pub scale: Scale,
    /// The last is on top.
    pub lines: Vec<Line<'a>>,
    /// Stretches of time that are shaded, seconds.
    pub held: Vec<(f64, f64)>,
    /// A value that should not be exceeded.
    pub limit: Option<f64>,
}

impl Panel<'_> {
    /// Draws it; `last` also names the unit of time.
    pub fn draw(&self, area: &Area<'_>, clock: Clock, last: bool) -> Result<(), Failed> {
        let scale = self.scale;
        let mut chart = ChartBuilder::on(area)
            .margin_left(10)
            .margin_right(24)
            .caption(&self.title, bold(17))
            .x_label_area_size(if last { 46 } else { 24 })
            .y_label_area_size(64)
            .build_cartesian_2d(0.0..clock.end, scale.low..scale.high)?;
        for (from, until) in &self.held {
            let corners = [(from / clock.seconds, scale.low), ((until / clock.seconds).min(clock.end), scale.high)];
            chart.draw_series([Rectangle::new(corners, HELD.mix(0.25).filled())])?;
        }
        let mut mesh = chart.configure_mesh();
        mesh.light_line_style(INK.mix(0.0)).bold_line_style(INK.mix(0.12)).label_style(plain(15)).x_labels(15);
        let label = |height: &f64| scale.label(*height);
        let time = |at: &f64| short(*at);
        mesh.x_label_formatter(&time);
        mesh.y_labels(scale.labels()).y_label_formatter(&label).axis_desc_style(plain(15));
        if last {
            mesh.x_desc(clock.unit);
        }
        mesh.draw()?;
        for line in &self.lines {
            draw_line(&mut chart, line, clock, scale)?;
        }
        self.limit.map_or(Ok(()), |limit| draw_limit(&mut chart, limit, clock, scale))
    }
}

fn draw_line(chart: &mut Chart<'_, '_>, line: &Line<'_>, clock: Clock, scale: Scale) -> Result<(), Failed> {
    let style = line.colour.stroke_width(line.width);
    if line.filled {
        let area = AreaSeries::new(line.drawn(clock, scale), scale.low, line.colour.mix(0.35));
        chart.draw_series(area.border_style(style))?;
    } else {
        chart.draw_series(LineSeries::new(line.drawn(clock, scale), style))?;
    }
    Ok(())
}

fn draw_limit(chart: &mut Chart<'_, '_>, limit: f64, clock: Clock, scale: Scale) -> Result<(), Failed> {
    let ends = [(0.0, scale.height(limit)), (clock.end, scale.height(limit))];
    let style: ShapeStyle = INK.stroke_width(2);
    chart.draw_series(DashedLineSeries::new(ends, 8, 6, style))?;
    Ok(())
}
