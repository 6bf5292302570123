// A chart on the page, and its picture: texts.js has the map.
"use strict";

const kChartHeight = 230;
const kPrintedWidth = 680;  // of a chart that is as wide as the paper's text, so that nothing is scaled
const isPrinted = () => "print" in document.documentElement.dataset;
const colour = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const translucent = text => /^#\w{6}$/.test(text) ? text + "33" : text;

// A chart on the page. update() draws the overview as it is, or returns what is constant; what did not change in kind is not made anew, and what the
// viewer has zoomed to stays.
const kIncrements = [1, 2, 5].flatMap(first => Array.from({length: 12}, (unused, power) => first * 10 ** power))
  .sort((a, b) => a - b);

// Its values as texts, or null: some line of it varies.
function constantText(x, lines, textOf) {
  const texts = [];
  for (const line of lines) {
    if (line.width === 0) continue;
    const first = line.values.findIndex(known);
    if (first < 0 && !line.gaps) continue;
    const text = textOf(line, Math.max(first, 0));
    const varies = at => known(line.values[at]) ? line.values[at] !== line.values[first] && textOf(line, at) !== text
      : line.gaps && textOf(line, at) !== text;
    if (x.some((unused, at) => varies(at))) return null;
    texts.push(lines.length > 1 ? `${line.name} ${text}` : text);
  }
  return texts.join("; ");
}

class Chart {
  constructor(row) {
    this.row = row;
    this.plot = null;
    this.place = make("div", {class: "plot", role: "img"});
    this.about = make("p", {class: "about"});
    this.figure = make("figure", {class: "chart", id: `chart-${row.id}`},
                       make("figcaption", {}, make("h3", {}, row.title),
                            make("button", {type: "button", onclick: () => this.save(),
                                            "aria-label": `${row.title} as a PNG file`}, "PNG")),
                       this.about, this.place);
    new ResizeObserver(() => {
      const width = this.place.clientWidth;
      if (this.plot && !isPrinted() && width && width !== this.plot.width) this.plot.setSize({width, height: kChartHeight});
    }).observe(this.place);
  }

  update(job, overview) {
    this.figure.hidden = !this.row.needs(job, overview);
    if (this.figure.hidden) return null;
    const {x, lines, bands, y} = this.row.draw(job, overview);
    this.lines = lines;
    const constant = this.row.x || this.row.ofJobs ? null : constantText(x, lines, (line, at) => this.text(line, at));
    this.figure.hidden = constant !== null;
    if (this.figure.hidden) return constant;
    const note = this.row.ofEpsilon ? caveat(job) : "";
    say(this.about, note ? `${this.row.about}. ${note}` : this.row.about);
    const kind = JSON.stringify([y, lines.map(({values, ...rest}) => rest)]);
    const data = [x, ...lines.map(line => line.values)];
    if (this.plot && kind === this.kind) {
      this.plot.setData(data, !this.isZoomed());
    } else {
      this.forget();
      this.kind = kind;
      this.plot = new uPlot(this.options(x, lines, bands ?? [], y ?? this.row.y), data, this.place);
    }
    this.showLast();
    return null;
  }

  // What a line says at an index.
  text(line, at) {
    return (line.text ?? this.row.text ?? number)(line.values[at], at);
  }

  forget() {
    this.plot?.destroy();
    this.plot = null;
  }

  isZoomed() {
    const x = this.plot.data[0];
    const {min, max} = this.plot.scales.x;
    return x.length > 0 && (min > x[0] || max < x[x.length - 1]);
  }

  // While nobody points at the chart its legend has the last values; they are also what a screen reader says.
  showLast() {
    if (!this.plot) return;
    const index = this.plot.data[0].length - 1;
    if (index < 0) return;
    if (!this.place.matches(":hover")) this.plot.setLegend({idx: index}, false);
    const texts = this.lines.filter(line => line.width !== 0).map(line => `${line.name} ${this.text(line, index)}`);
    this.place.setAttribute("aria-label",
                            `${this.row.title}: ${this.row.x ?? "round"} ${number(this.plot.data[0][index])}, ${texts.join(", ")}`);
  }

  options(x, lines, bands, y) {
    const axis = {stroke: colour("soft"), grid: {stroke: colour("line"), width: 1}, ticks: {stroke: colour("line")},
                  font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif", labelSize: 20};
    const texts = text => (plot, splits) => splits.map(at => known(at) ? text(at) : "");
    const ofY = this.row.text ?? number;
    const hasBars = lines.some(line => line.bars);
    return {
      width: isPrinted() ? kPrintedWidth : this.place.clientWidth || 400, height: kChartHeight,
      // The library empties the legend after it has drawn.
      hooks: {ready: [() => this.showLast()],
              setLegend: [plot => { if (!known(plot.legend.idx)) this.showLast(); }]},
      cursor: {y: false, points: {size: 6}},
      scales: {x: {time: false, range: hasBars ? barRange : undefined},
               y: {distr: this.row.isLog ? 3 : 1,
                   range: this.row.isLog ? undefined : this.row.isWhole ? wholeRange : hasBars ? fromZero : paddedRange}},
      axes: [{...axis, label: this.row.x ?? "round", size: 30, values: texts(number),
              incrs: this.row.x ? undefined : kIncrements},
             {...axis, label: y, labelGap: 4, size: roomForTexts, values: texts(ofY), incrs: this.row.isWhole ? kIncrements : undefined}],
      series: [{label: this.row.x ?? "round", value: (plot, value) => number(value)}, ...lines.map((line, i) => this.series(line, i, x))],
      bands: bands.map(band => ({series: band.series, fill: translucent(colour(`series-${band.of}`))})),
    };
  }

  series(line, i, x) {
    const stroke = colour(`series-${line.series}`);
    return {
      label: line.name, stroke, dash: line.dash, spanGaps: !line.gaps, width: line.width ?? (line.bars ? 0 : 1.6),
      fill: line.bars ? translucent(stroke) : undefined,
      paths: line.bars ? uPlot.paths.bars({size: [0.8, 40]}) : line.points ? () => null : undefined,
      points: {show: line.points || (!line.bars && line.width !== 0 && x.length <= 40), size: line.points ? 8 : 5,
               fill: stroke},
      value: (plot, value, series, at) => known(at) ? this.text(this.lines[i], at) : "–",
    };
  }

  // The chart with its title, what it must not be read without, and its legend as a picture.
  save() {
    const job = shown.job();
    const audience = isOperators(shown.overview) ? "operator's view, not for publication" : "published view";
    const heading = [`${job.model}, job ${job.job}: ${this.row.about}`, audience + (caveat(job) && ` – ${caveat(job)}`)];
    pictureOf(this.plot, this.row.title, heading).toBlob(blob => {
      const link = make("a", {href: URL.createObjectURL(blob),
                              download: `sotto-${job.model}-job${job.job}-${this.row.id}.png`});
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    }, "image/png");
  }
}

// A canvas with a title, lines of text, a plot and its legend below, an entry a line.
function pictureOf(plot, title, heading) {
  const scale = window.devicePixelRatio || 1;
  const source = plot.ctx.canvas;
  const entries = plot.series.slice(1).filter(series => series.width || series.fill);
  const head = (30 + 16 * heading.length) * scale;
  const picture = make("canvas", {width: source.width, height: head + source.height + (10 + 18 * entries.length) * scale});
  const pen = picture.getContext("2d");
  const write = (text, x, y, ink, font) => {
    pen.fillStyle = colour(ink);
    pen.font = font.replace(/\d+(\.\d+)?px/, size => `${parseFloat(size) * scale}px`);
    pen.fillText(text, x * scale, y, picture.width - 2 * x * scale);
  };
  pen.fillStyle = colour("panel");
  pen.fillRect(0, 0, picture.width, picture.height);
  write(title, 12, 20 * scale, "ink", "600 15px system-ui, sans-serif");
  heading.forEach((text, i) => write(text, 12, (38 + 16 * i) * scale, "soft", "11.5px system-ui, sans-serif"));
  pen.drawImage(source, 0, head);
  entries.forEach((series, i) => {
    const y = head + source.height + (10 + 18 * i) * scale;
    pen.strokeStyle = series._stroke;
    pen.lineWidth = (series.fill ? 8 : 2) * scale;
    pen.setLineDash((series.dash ?? []).map(length => length * scale));
    pen.beginPath();
    pen.moveTo(12 * scale, y - 4 * scale);
    pen.lineTo(40 * scale, y - 4 * scale);
    pen.stroke();
    write(series.label, 48, y, "ink", "11.5px system-ui, sans-serif");
  });
  return picture;
}

// An axis is as wide as its longest text.
function roomForTexts(plot, values, at, cycle) {
  const axis = plot.axes[at];
  if (cycle > 1) return axis._size;
  const longest = (values ?? []).reduce((most, text) => text && text.length > most.length ? text : most, "");
  plot.ctx.font = axis.font[0];
  return Math.ceil(axis.ticks.size + axis.gap + plot.ctx.measureText(longest).width / devicePixelRatio);
}

// Some room above and below, and no zero that no value is near to.
function paddedRange(plot, low, high) {
  if (low === null || high === null) return [0, 1];
  const pad = high > low ? 0.06 * (high - low) : Math.max(0.05 * Math.abs(high), 0.01);
  return [low >= 0 && low - pad < 0 ? 0 : low - pad, high + pad];
}

// Of counts: whole numbers, from zero.
const wholeRange = (plot, low, high) => [0, Math.max(2, Math.ceil((high ?? 1) * 1.06))];

// For bars, which begin at zero and have a width.
const fromZero = (plot, low, high) => [0, (high ?? 1) * 1.06];
const barRange = (plot, low, high) => [(low ?? 0) - 0.6, (high ?? 1) + 0.6];
