//! A chart as SVG: times on a logarithmic scale, in groups. It brings its own background, light or dark as the reader wants it, and
//! needs no script and no font.

mod scale;

use std::fmt::{self, Formatter};

use crate::units;
use scale::Scale;

/// Widths and heights, in pixels.
const WIDTH: f64 = 840.0;
const MARGIN: f64 = 24.0;
const PLOT_LEFT: f64 = 280.0;
/// Right of it is room for the figure of the longest row.
const PLOT_RIGHT: f64 = WIDTH - MARGIN - 70.0;
const HEAD: f64 = 76.0;
const GROUP: f64 = 34.0;
const ROW: f64 = 22.0;
const GAP: f64 = 10.0;
const FOOT: f64 = 40.0;

const STYLE: &str = "
  .card { fill: #ffffff; stroke: #d1d9e0; }
  text { font: 13px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #1f2328; }
  .title { font-size: 17px; font-weight: 600; }
  .group { font-weight: 600; }
  .muted { fill: #59636e; }
  .tick { font-size: 11px; fill: #59636e; text-anchor: middle; }
  .grid { stroke: #e4e8ec; }
  .ours { fill: #0969da; stroke: #0969da; }
  .theirs { fill: #8c959f; stroke: #8c959f; }
  text.ours { stroke: none; font-weight: 600; }
  text.theirs { stroke: none; fill: #59636e; }
  @media (prefers-color-scheme: dark) {
    .card { fill: #0d1117; stroke: #3d444d; }
    text { fill: #f0f6fc; }
    .muted, .tick, text.theirs { fill: #9198a1; }
    .grid { stroke: #262c34; }
    .ours { fill: #4493f8; stroke: #4493f8; }
    .theirs { fill: #767e89; stroke: #767e89; }
  }
";

/// Whose figure a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Ours,
    Theirs,
}

/// One figure.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) label: String,
    pub(crate) nanoseconds: f64,
    pub(crate) side: Side,
}

/// Figures for the same thing.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) title: String,
    pub(crate) rows: Vec<Row>,
}

/// Its `Display` is the SVG.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    pub(crate) title: String,
    pub(crate) note: String,
    pub(crate) groups: Vec<Group>,
}

impl fmt::Display for Chart {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (height, title) = (self.height(), escape(&self.title));
        writeln!(
            f,
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">"#
        )?;
        writeln!(f, "<title>{title}</title>\n<style>{STYLE}</style>")?;
        let (inner_width, inner_height) = (WIDTH - 1.0, height - 1.0);
        writeln!(f, r#"<rect class="card" x="0.5" y="0.5" width="{inner_width}" height="{inner_height}" rx="8"/>"#)?;
        text(f, "title", MARGIN, 36.0, &self.title)?;
        text(f, "muted", MARGIN, 58.0, &self.note)?;
        let scale = Scale::new(self.times(), PLOT_LEFT..PLOT_RIGHT);
        self.draw_grid(f, &scale)?;
        self.draw_groups(f, &scale)?;
        writeln!(f, "</svg>")
    }
}

impl Chart {
    fn height(&self) -> f64 {
        HEAD + self.groups.iter().map(Group::height).sum::<f64>() + FOOT
    }

    fn times(&self) -> impl Iterator<Item = f64> {
        self.groups.iter().flat_map(|group| &group.rows).map(|row| row.nanoseconds)
    }

    fn draw_grid(&self, f: &mut Formatter<'_>, scale: &Scale) -> fmt::Result {
        let bottom = self.height() - FOOT;
        for (x, nanoseconds) in scale.decades() {
            writeln!(f, r#"<line class="grid" x1="{x:.1}" y1="{HEAD}" x2="{x:.1}" y2="{bottom}"/>"#)?;
            text(f, "tick", x, bottom + 18.0, &tick(nanoseconds))?;
        }
        Ok(())
    }

    fn draw_groups(&self, f: &mut Formatter<'_>, scale: &Scale) -> fmt::Result {
        let mut top = HEAD;
        for group in &self.groups {
            group.draw(f, scale, top)?;
            top += group.height();
        }
        Ok(())
    }
}

impl Group {
    fn height(&self) -> f64 {
        self.rows.iter().map(|_| ROW).sum::<f64>() + GROUP + GAP
    }

    fn draw(&self, f: &mut Formatter<'_>, scale: &Scale, top: f64) -> fmt::Result {
        text(f, "group", MARGIN, top + 21.0, &self.title)?;
        let mut y = top + GROUP + ROW / 2.0;
        for row in &self.rows {
            row.draw(f, scale, y)?;
            y += ROW;
        }
        Ok(())
    }
}

impl Row {
    fn draw(&self, f: &mut Formatter<'_>, scale: &Scale, y: f64) -> fmt::Result {
        let (x, baseline) = (scale.place(self.nanoseconds), y + 4.5);
        let class = match self.side {
            Side::Ours => "ours",
            Side::Theirs => "theirs",
        };
        text(f, class, MARGIN + 12.0, baseline, &self.label)?;
        writeln!(
            f,
            r#"<line class="{class}" x1="{PLOT_LEFT}" y1="{y:.1}" x2="{x:.1}" y2="{y:.1}" stroke-width="3"/>"#
        )?;
        writeln!(f, r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="4.5"/>"#)?;
        text(f, class, x + 11.0, baseline, &units::time(self.nanoseconds))
    }
}

fn text(f: &mut Formatter<'_>, class: &str, x: f64, y: f64, text: &str) -> fmt::Result {
    writeln!(f, r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{}</text>"#, escape(text))
}

/// A power of ten, without digits behind the point.
fn tick(nanoseconds: f64) -> String {
    let time = units::time(nanoseconds);
    match time.split_once(' ') {
        Some((number, unit)) => format!("{} {unit}", number.split('.').next().unwrap_or(number)),
        None => time,
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(label: &str) -> String {
        let row = |nanoseconds, side| Row { label: label.to_owned(), nanoseconds, side };
        let rows = vec![row(2_000.0, Side::Ours), row(3_000_000.0, Side::Theirs)];
        let groups = vec![Group { title: "A <group>".to_owned(), rows }];
        Chart { title: "Times & more".to_owned(), note: "CPU".to_owned(), groups }.to_string()
    }

    #[test]
    fn escapes_what_is_markup() {
        assert_eq!(escape(r#"a <b> & "c""#), "a &lt;b&gt; &amp; &quot;c&quot;");
        let svg = chart("wc <file> && \"more\"");
        for text in
            ["wc &lt;file&gt; &amp;&amp; &quot;more&quot;", "A &lt;group&gt;", "<title>Times &amp; more</title>"]
        {
            assert!(svg.contains(text), "{text}");
        }
    }

    #[test]
    fn shows_each_figure_and_the_powers_of_ten_around_them() {
        let svg = chart("a system");
        for text in ["2.00 µs", "3.00 ms", ">1 µs<", ">10 µs<", ">10 ms<"] {
            assert!(svg.contains(text), "{text}");
        }
        assert!(!svg.contains(">100 ms<"));
    }

    #[test]
    fn every_line_but_the_style_is_an_element() {
        let svg = chart("a system");
        let (head, rest) = svg.split_once("<style>").expect("a style");
        let (_, rest) = rest.split_once("</style>").expect("its end");
        assert!(head.lines().chain(rest.lines().skip(1)).all(|line| line.starts_with('<') && line.ends_with('>')));
    }

    #[test]
    fn reaches_out_for_nothing() {
        assert!(!chart("a system").replace("http://www.w3.org/2000/svg", "").contains("http"));
    }
}
