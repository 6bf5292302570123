// Draws an overview (server/src/views/overview.h): live from `sotto serve`, or the one that a report holds.
//
//   1 texts     numbers, times, elements
//   2 tables    key figures and charts, one row each: to add one, add a row
//   3 charts    a chart on the page, and its picture
//   4 sections  the rest of the page
//   5 events    what changes the overview
//   6 begin     the report's overview, or login and stream
//
// All texts of an overview reach the page as text, never as markup. Rounds count from 1, times are seconds since 1970,
// null is a figure that is not known, "Infinity" one that is infinite.
"use strict";

// ---- 1 texts

const byId = id => document.getElementById(id);

// An element with attributes and children; a child may be a text.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter(child => child != null));
  return element;
}

// Sets a text if it is another one: what is spoken or selected stays.
function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const known = value => value !== null && value !== undefined;
const last = list => list.length ? list[list.length - 1] : null;

// With four digits, or as many as a whole number has.
function number(value) {
  if (!known(value)) return "–";
  if (!Number.isFinite(value)) return String(value).startsWith("-") ? "-∞" : "∞";
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const size = Math.abs(value);
  if (size >= 1e6 || (size > 0 && size < 1e-3)) return value.toExponential(2);
  return Number(value.toPrecision(4)).toString();
}

// Bounds are rounded up. A number's nearest decimal of so many digits may lie below it; then the next one is taken.
function roundedUp(value, digits) {
  const exponent = Math.floor(Math.log10(value));
  let text = value.toExponential(digits - 1);
  if (Number(text) < value) text = (Number(text) + 10 ** (exponent - digits + 1)).toExponential(digits - 1);
  return Number(text) < value ? value.toExponential() : text;
}

function epsilonText(value) {
  if (!known(value)) return "–";
  if (!Number.isFinite(value)) return "∞";
  const text = value.toFixed(3);
  return Number(text) >= value ? text : (Number(text) + 0.001).toFixed(3);
}

const deltaText = value =>
  !known(value) ? "–" : value === 0 ? "0" : value < 1e-3 ? roundedUp(value, 3) : String(Number(roundedUp(value, 3)));
const percent = value => known(value) ? `${(100 * value).toFixed(1)} %` : "–";

function bytes(value) {
  if (!known(value)) return "–";
  const units = ["B", "kB", "MB", "GB"];
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) { value /= 1000; ++unit; }
  return `${unit ? value.toPrecision(3) : value} ${units[unit]}`;
}

function time(seconds) {
  return known(seconds) ? new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ") + "Z" : "–";
}

function duration(seconds) {
  if (!known(seconds)) return "–";
  if (seconds < 100) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 100) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

// What a chart draws of a figure: an infinite one is a gap.
const drawn = value => Number.isFinite(value) ? value : null;

// A table of texts. A cell that starts with a digit is a number.
function table(head, rows) {
  const cell = (tag, text) => make(tag, {class: /^[\d–∞-]/.test(text) ? "number" : null}, String(text));
  return make("table", {},
              make("thead", {}, make("tr", {}, ...head.map(text => make("th", {scope: "col"}, text)))),
              make("tbody", {}, ...rows.map(row => make("tr", {}, ...row.map(text => cell("td", text))))));
}

// ---- 2 tables

// What an epsilon of this job does not promise; it stands wherever an epsilon does.
function caveat(job) {
  if (!job.private) return "NO PRIVACY: the mechanism of this job protects nothing.";
  return job.seeded ? "SEEDED: not private. No epsilon holds against a person who knows the seed." : "";
}

const someKnown = (rows, field) => rows.some(row => known(row[field]));
const lossOf = evaluation => evaluation.mean_squared_error ?? evaluation.loss;
const isRegression = job => job.evaluations.some(each => known(each.mean_squared_error));
const isOperators = overview => overview.audience === "operator";

// {name, value(job, overview), more(...)}: null is not shown.
const keyFigures = [
  {name: "rounds released", value: job => `${job.rounds_released} of ${job.rounds_planned ?? "–"}`,
   share: job => job.rounds_planned ? job.rounds_released / job.rounds_planned : null},
  {name: "accuracy on test data", value: job => {
    const at = last(job.evaluations.filter(each => known(each.accuracy)));
    return at && percent(at.accuracy);
  }, more: job => { const at = last(job.evaluations); return at && `after round ${at.round}, ${at.data}`; }},
  {name: "loss on test data", value: job => {
    const at = last(job.evaluations);
    return at && number(lossOf(at));
  }, more: job => isRegression(job) ? "mean squared error" : null},
  {name: "accuracy on the devices", value: job => {
    const at = last(job.rounds.filter(round => known(round.device_accuracy)));
    return at && `${percent(at.device_accuracy.accuracy)} ± ${percent(at.device_accuracy.bar)}`;
  }, more: () => "noisy; of the model before the last round"},
  {name: "reported in the last round", value: job => {
    const at = last(job.rounds);
    return at && known(at.reported) ? `${at.reported} of ${number(at.drawn ?? at.expected_cohort)}` : null;
  }, more: job => {
    const at = last(job.rounds);
    return known(at?.topped_up) ? `${at.topped_up} topped up, ${at.refused} refused` : null;
  }},
  {name: "open attempt", value: job => job.attempt && attemptText(job.attempt),
   more: job => job.attempt && `round ${job.attempt.round}, attempt ${job.attempt.attempt}: ${job.attempt.drawn} drawn`},
  {name: "noise to signal", value: job => {
    const at = last(job.rounds);
    return at && known(at.noise_to_signal) ? number(at.noise_to_signal) : null;
  }, more: () => "of the last update"},
  {name: "devices", value: (job, overview) => overview.devices && `${overview.devices.eligible}`,
   more: (job, overview) => known(overview.devices?.connected)
     ? `eligible; ${overview.devices.connected} connected` : "eligible"},
];

// Texts on a chart's axes and legend.
const axisNumber = (plot, splits) => splits.map(number);
const legendNumber = (plot, value) => number(value);

const roundsOf = job => job.rounds.map(round => round.round);
const column = (job, field) => job.rounds.map(round => drawn(round[field]));

// Test figures, and what the devices said of the model before a round, by round.
function accuracies(job) {
  const at = new Map();
  const row = round => at.get(round) ?? at.set(round, {}).get(round);
  for (const each of job.evaluations) row(each.round).test = each.accuracy;
  for (const round of job.rounds) {
    if (!known(round.device_accuracy) || round.round < 2) continue;
    const {accuracy, bar} = round.device_accuracy;
    Object.assign(row(round.round - 1), {devices: accuracy, low: accuracy - bar, high: accuracy + bar});
  }
  const x = [...at.keys()].sort((a, b) => a - b);
  const pick = field => x.map(round => drawn(at.get(round)[field]));
  return {x, test: pick("test"), devices: pick("devices"), low: pick("low"), high: pick("high")};
}

// {id, title, about, x, y (labels of the axes), ofEpsilon, isLog, needs(job, overview),
// draw(job, overview) -> {x, lines, bands, y}}. A line: {name, values, series (number of its colour), dash, bars, points,
// width, value, gaps: a null is a gap}.
const charts = [
  {id: "accuracy", title: "Accuracy", y: "accuracy", about: "on the test data, and as the devices say, with its bar",
   needs: job => someKnown(job.evaluations, "accuracy") || someKnown(job.rounds, "device_accuracy"),
   draw: job => {
     const {x, test, devices, low, high} = accuracies(job);
     const lines = [{name: "test data", values: test, series: 1}];
     if (devices.some(known)) {
       lines.push({name: "devices", values: devices, series: 2, dash: [6, 4]},
                  {name: "devices, high", values: high, series: 2, width: 0},
                  {name: "devices, low", values: low, series: 2, width: 0});
     }
     return {x, lines, bands: devices.some(known) ? [{series: [3, 4], of: 2}] : []};
   }},
  {id: "loss", title: "Loss", y: "loss", about: "on the test data",
   needs: job => job.evaluations.some(each => known(lossOf(each))),
   draw: job => ({x: job.evaluations.map(each => each.round),
                  lines: [{name: isRegression(job) ? "mean squared error" : "loss",
                           values: job.evaluations.map(each => drawn(lossOf(each))), series: 1}]})},
  {id: "epsilon", title: "Epsilon", y: "epsilon", ofEpsilon: true, about: "spent after each round, for each adversary",
   needs: job => job.private && job.rounds.length > 0,
   draw: job => {
     const lines = job.claims.map((claim, i) => ({
       name: claim.against.replace(/^against (whoever sees )?/, ""), series: i + 1, dash: i ? [8 - i, 3 + i] : [], gaps: true,
       // Of the overview and not of the chart, which has a gap for what is infinite.
       value: (plot, value, series, at) => epsilonText(known(at) ? shown.job()?.rounds[at]?.epsilon[claim.field] : null),
       values: job.rounds.map(round => drawn(round.epsilon[claim.field]))}));
     if (Number.isFinite(job.epsilon_budget)) {
       lines.push({name: "budget", series: 6, dash: [2, 4], value: (plot, value) => epsilonText(value),
                   values: job.rounds.map(() => job.epsilon_budget)});
     }
     return {x: roundsOf(job), lines};
   }},
  {id: "reports", title: "Reports", y: "devices", about: "drawn devices that reported, zero updates in place of others, and refusals",
   needs: job => someKnown(job.rounds, "reported"),
   draw: job => ({x: roundsOf(job), lines: [
     {name: "planned", values: column(job, "planned_reports"), series: 6, dash: [2, 4]},
     {name: "reported", values: column(job, "reported"), series: 1},
     {name: "topped up", values: column(job, "topped_up"), series: 2, dash: [6, 4]},
     {name: "refused", values: column(job, "refused"), series: 4, dash: [2, 2]}]})},
  {id: "bytes", title: "Upload", y: "bytes", about: "bytes of all updates of a round",
   needs: job => someKnown(job.rounds, "update_bytes"),
   draw: job => ({x: roundsOf(job), lines: [{name: "bytes", values: column(job, "update_bytes"), series: 1,
                                             value: (plot, value) => bytes(value)}]})},
  {id: "clip", title: "Clipping", y: "model units", about: "bound on the norm of an update",
   needs: job => job.rounds.length > 0,
   draw: job => ({x: roundsOf(job), lines: [{name: "bound C", values: column(job, "clip_l2"), series: 1}]})},
  {id: "unclipped", title: "Not clipped", y: "share", about: "noisy share of the cohort whose update is within the bound",
   needs: job => someKnown(job.rounds, "unclipped_fraction"),
   draw: job => ({x: roundsOf(job),
                  lines: [{name: "share", values: column(job, "unclipped_fraction"), series: 2}]})},
  {id: "noise", title: "Noise to signal", y: "ratio", about: "norm of an update's noise over the norm of the rest, estimated",
   needs: job => someKnown(job.rounds, "noise_to_signal"),
   draw: job => ({x: roundsOf(job),
                  lines: [{name: "noise to signal", values: column(job, "noise_to_signal"), series: 2}]})},
  {id: "timeline", title: "Times of the rounds", y: "seconds", about: "seconds from the opening to the deadline and to the publication",
   needs: job => someKnown(job.rounds, "opened"),
   draw: job => {
     const since = (field, round) => known(round.opened) && known(round[field]) ? round[field] - round.opened : null;
     const published = job.rounds.map(round => since("published", round));
     const lines = [
       {name: "until published", values: published, series: 6, bars: true},
       {name: "open", values: job.rounds.map(round => since("closed", round)), series: 1, bars: true}];
     if (job.rounds.some(round => round.late_ms > 0)) {
       lines.push({name: "late", values: job.rounds.map((round, i) => round.late_ms > 0 ? published[i] : null),
                   series: 2, points: true});
     }
     return {x: roundsOf(job), lines};
   }},
  {id: "spectrum", title: "Spectrum of the last update", x: "cycles a coordinate", y: "power", isLog: true,
   about: "power before and after the estimator; what lies at the noise's level is noise",
   needs: job => known(job.spectrum),
   draw: job => {
     const positive = values => values.map(value => value > 0 ? value : null);
     const {before, after} = job.spectrum;
     const isSame = before.every((power, i) => power === after[i]);
     const lines = [{name: isSame ? "before and after: nothing is smoothed" : "before", values: positive(before), series: 1}];
     if (!isSame) lines.push({name: "after", values: positive(after), series: 2, dash: [6, 4]});
     if (job.spectrum.noise > 0) {
       lines.push({name: "noise", values: job.spectrum.frequency.map(() => job.spectrum.noise), series: 6, dash: [2, 4]});
     }
     return {x: job.spectrum.frequency, lines};
   }},
  {id: "jobs-by-round", title: "Jobs side by side", about: "test figures of each job of the store",
   needs: (job, overview) => comparable(overview.jobs).jobs.length > 1,
   draw: (job, overview) => sideBySide(overview, each => each.evaluations.map(at => at.round))},
  {id: "jobs-by-epsilon", title: "Jobs by epsilon", about: "the same over what the released models cost", x: "epsilon",
   ofEpsilon: true, needs: (job, overview) => comparable(overview.jobs).jobs.filter(each => each.private).length > 1,
   draw: (job, overview) => sideBySide(overview, each => {
     const spent = new Map(each.rounds.map(round => [round.round, drawn(round.epsilon.epsilon)]));
     return each.evaluations.map(at => spent.get(at.round) ?? null);
   })},
];

// The jobs that have a figure of one kind, and that kind: most jobs, accuracy first.
function comparable(jobs) {
  const kinds = [["accuracy", "accuracy"], ["mean squared error", "mean_squared_error"], ["loss", "loss"]];
  const all = kinds.map(([y, field]) => ({y, field, jobs: jobs.filter(each => someKnown(each.evaluations, field))}));
  return all.reduce((most, each) => each.jobs.length > most.jobs.length ? each : most);
}

// A line for each job, over its own places on the axis.
function sideBySide(overview, placesOf) {
  const {jobs, field, y} = comparable(overview.jobs);
  const at = jobs.map(each => new Map(placesOf(each).map((place, i) => [place, each.evaluations[i][field]])));
  const x = [...new Set(at.flatMap(each => [...each.keys()]))].filter(known).sort((a, b) => a - b);
  return {x, y, lines: jobs.map((each, i) => ({
    name: `job ${each.job}, ${each.model}`, series: i % 6 + 1, dash: i % 2 ? [6, 4] : [],
    values: x.map(place => drawn(at[i].get(place)))}))};
}

// ---- 3 charts

const kChartHeight = 230;
const kPrintedWidth = 680;  // of a chart that is as wide as the paper's text, so that nothing is scaled
const isPrinted = () => "print" in document.documentElement.dataset;
const colour = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const translucent = text => /^#\w{6}$/.test(text) ? text + "33" : text;

// A chart on the page. update() draws the overview as it is; what did not change in kind is not made anew, and what the
// viewer has zoomed to stays.
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
    if (this.figure.hidden) return;
    const {x, lines, bands, y} = this.row.draw(job, overview);
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
    const texts = this.plot.series.slice(1).filter(series => series.width || series.fill).map((series, i) =>
      `${series.label} ${series.value(this.plot, this.plot.data[i + 1][index], i + 1, index)}`);
    this.place.setAttribute("aria-label",
                            `${this.row.title}: ${this.row.x ?? "round"} ${number(this.plot.data[0][index])}, ${texts.join(", ")}`);
  }

  options(x, lines, bands, y) {
    const axis = {stroke: colour("soft"), grid: {stroke: colour("line"), width: 1}, ticks: {stroke: colour("line")},
                  font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif", labelSize: 18};
    const whole = (plot, splits) => splits.map(at => Number.isInteger(at) ? at.toLocaleString("en") : "");
    const hasBars = lines.some(line => line.bars);
    return {
      width: isPrinted() ? kPrintedWidth : this.place.clientWidth || 400, height: kChartHeight,
      // The library empties the legend after it has drawn.
      hooks: {ready: [() => this.showLast()],
              setLegend: [plot => { if (!known(plot.legend.idx)) this.showLast(); }]},
      cursor: {y: false, points: {size: 6}},
      scales: {x: {time: false, range: hasBars ? barRange : undefined},
               y: {distr: this.row.isLog ? 3 : 1,
                   range: this.row.isLog ? undefined : hasBars ? fromZero : paddedRange}},
      axes: [{...axis, label: this.row.x ?? "round", size: 30, values: this.row.x ? axisNumber : whole},
             {...axis, label: y, size: 56, values: axisNumber}],
      series: [{label: this.row.x ?? "round", value: legendNumber}, ...lines.map(line => this.series(line, x))],
      bands: bands.map(band => ({series: band.series, fill: translucent(colour(`series-${band.of}`))})),
    };
  }

  series(line, x) {
    const stroke = colour(`series-${line.series}`);
    return {
      label: line.name, stroke, dash: line.dash, spanGaps: !line.gaps, width: line.width ?? (line.bars ? 0 : 1.6),
      fill: line.bars ? translucent(stroke) : undefined,
      paths: line.bars ? uPlot.paths.bars({size: [0.8, 40]}) : line.points ? () => null : undefined,
      points: {show: line.points || (!line.bars && line.width !== 0 && x.length <= 40), size: line.points ? 8 : 5,
               fill: stroke},
      value: line.value ?? legendNumber,
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

// Some room above and below, and no zero that no value is near to.
function paddedRange(plot, low, high) {
  if (low === null || high === null) return [0, 1];
  const pad = high > low ? 0.06 * (high - low) : Math.max(0.05 * Math.abs(high), 0.01);
  return [low >= 0 && low - pad < 0 ? 0 : low - pad, high + pad];
}

// For bars, which begin at zero and have a width.
const fromZero = (plot, low, high) => [0, (high ?? 1) * 1.06];
const barRange = (plot, low, high) => [(low ?? 0) - 0.6, (high ?? 1) + 0.6];

// ---- 4 sections

// What the page shows.
const shown = {
  overview: null,
  charts: [],
  clock: 0,  // the server's clock less this machine's, seconds
  job: () => last(shown.overview.jobs),
};

const kStates = {running: "running", waiting: "waiting", paused: "paused", finished: "finished",
                 "gave-up": "GAVE UP", stopped: "stopped"};

function attemptText(attempt) {
  const left = attempt.deadline - (Date.now() / 1000 + shown.clock);
  return left > 0 ? `${duration(left)} left` : "closing";
}

function drawHead(overview, job) {
  document.title = job ? `${job.model} – Sotto` : "Sotto";
  say(byId("title"), job ? `${job.model}, job ${job.job} of ${overview.source}` : overview.source);
  say(byId("state"), !job ? "No job has begun. Register devices with `sotto keys new` and start `sotto serve`."
    : `${kStates[job.state] ?? job.state}${job.reason ? `: ${job.reason}` : ""}`);
  byId("state").className = job?.state === "gave-up" ? "loud" : "";
  say(byId("view"), isOperators(overview)
    ? "Operator's view: counts and times tell who took part; do not publish them. `sotto report` writes what may be shown."
    : "Published view: without what tells who took part.");
  byId("warning").hidden = !job || !caveat(job);
  say(byId("warning"), job ? caveat(job) : "");
  byId("connection").hidden = !overview.live;
  say(byId("footer"), `sotto ${overview.sotto_version}` +
    (overview.live ? `, started ${time(overview.started)}` : `, written ${time(overview.now)}`));
}

function figure(name, value, more, share) {
  return make("div", {class: "figure"}, make("div", {class: "name"}, name), make("div", {class: "value"}, value),
              known(share) ? make("progress", {max: 1, value: Math.min(1, share), "aria-label": name}) : null,
              more ? make("div", {class: "more"}, more) : null);
}

// An upper bound on a share, with one decimal.
const percentUp = value => `${(Math.ceil(Math.min(value, 1) * 1000 - 1e-9) / 10).toFixed(1)} %`;

// How strong a claim is, besides its epsilon.
function strengthOf(claim) {
  const texts = [];
  if (claim.participations) texts.push(`each device takes part in at most ${claim.participations} rounds`);
  if (known(claim.attacker_right)) texts.push(`the best attacker is right at most ${percentUp(claim.attacker_right)} of the time`);
  if (known(claim.mu)) texts.push(`mu ${epsilonText(claim.mu)}`);
  for (const pair of claim.pairs ?? []) texts.push(`ε ${epsilonText(pair.epsilon)} at delta ${deltaText(pair.delta)}`);
  if (known(claim.epsilon_zero_out)) {
    texts.push(`ε ${epsilonText(claim.epsilon_zero_out)} against the same fleet in which this device had added nothing wherever it was asked`);
  }
  return texts.join("; ");
}

// A figure for each claim: epsilon, and of the budget if it is that claim's.
function claimFigures(job) {
  return job.claims.map((claim, i) => {
    const hasBudget = i === 0 && Number.isFinite(job.epsilon_budget);
    const value = `ε ${epsilonText(claim.epsilon)}` + (hasBudget ? ` of ${number(job.epsilon_budget)}` : "");
    const more = `${claim.against}; delta ${deltaText(claim.delta)}, unit ${claim.unit}, ${claim.adjacency}` +
      (known(claim.attacker_right) ? `; attacker right ${percentUp(claim.attacker_right)}` : "") +
      (job.seeded ? "; SEEDED: not private" : "");
    return figure("privacy spent", value, more,
                  !hasBudget ? null : Number.isFinite(claim.epsilon) ? claim.epsilon / job.epsilon_budget : 1);
  });
}

function drawFigures(overview, job) {
  const figures = keyFigures.map(row => {
    const value = row.value(job, overview);
    return known(value) ? figure(row.name, value, row.more?.(job, overview), row.share?.(job)) : null;
  });
  figures.splice(1, 0, ...claimFigures(job));
  byId("figures").replaceChildren(...figures.filter(known));
}

function drawCharts(overview, job) {
  const hasCharts = typeof uPlot !== "undefined";
  byId("no-charts").hidden = hasCharts;
  if (!hasCharts) return;
  if (!shown.charts.length) {
    shown.charts = charts.map(row => new Chart(row));
    byId("charts").replaceChildren(...shown.charts.map(chart => chart.figure));
  }
  for (const chart of shown.charts) chart.update(job, overview);
}

// A figure of a round as its unit wants it.
const unitTexts = {bytes, "seconds since 1970": time};
const textOf = (value, unit) => typeof value === "string" ? value
  : known(value?.accuracy) ? percent(value.accuracy) : (unitTexts[unit] ?? number)(value);

function roundsTable(job, rounds) {
  const fields = job.claims.map(claim => claim.field);
  const tests = new Map(job.evaluations.map(each => [each.round, each]));
  const head = ["round", "test", ...fields.map(field => field.replaceAll("_", " ")), "clip", "noise sigma",
                ...job.columns.map(each => each.heading)];
  return table(head, rounds.map(round => [
    number(round.round), testText(tests.get(round.round)), ...fields.map(field => epsilonText(round.epsilon[field])),
    number(round.clip_l2), number(round.noise_sigma),
    ...job.columns.map(each => textOf(round[each.field], each.unit))]));
}

const testText = test => !test ? "–" : known(test.accuracy) ? percent(test.accuracy) : number(lossOf(test));

// The last ten, and all of them for whoever asks.
function drawRounds(job) {
  byId("rounds-section").hidden = !job.rounds.length;
  say(byId("rounds-note"), job.claims.length ? caveat(job) : "");
  byId("rounds").replaceChildren(roundsTable(job, job.rounds.slice(-10).reverse()));
  byId("all-rounds").parentElement.hidden = job.rounds.length <= 10;
  if (byId("all-rounds").parentElement.open) byId("all-rounds").replaceChildren(roundsTable(job, job.rounds));
}

// The claims against observers of the network, with their columns in the table of jobs.
const kOfNetwork = [["epsilon_watcher", "who watches uploads"], ["epsilon_network", "who makes rounds fail, too"]];

function drawJobs(overview) {
  byId("jobs-section").hidden = overview.jobs.length < 2;
  const rows = overview.jobs.map(job => {
    const test = last(job.evaluations);
    const headline = job.claims[0];
    return [number(job.job), job.model, job.mechanism, kStates[job.state] ?? job.state, time(job.begun),
            `${job.rounds_released} of ${job.rounds_planned ?? "–"}`,
            testText(test),
            !job.private ? "NO PRIVACY" : headline ? epsilonText(headline.epsilon) + (job.seeded ? ", seeded" : "") : "–",
            ...kOfNetwork.map(([field]) => epsilonText(job.claims.find(claim => claim.field === field)?.epsilon))];
  });
  byId("jobs").replaceChildren(table(
    ["job", "model", "mechanism", "state", "begun", "rounds", "test", "epsilon of the released models",
     ...kOfNetwork.map(([, heading]) => heading)], rows));
}

function claimText(claim) {
  return make("div", {class: "claim"},
    make("p", {}, make("strong", {}, `epsilon ${epsilonText(claim.epsilon)} at delta ${deltaText(claim.delta)} `),
         claim.against),
    strengthOf(claim) ? make("p", {}, `${strengthOf(claim)}.`) : null,
    make("p", {class: "note"}, `Adversary ${claim.adversary}, who sees ${claim.view.replaceAll("-", " ")}; ` +
      `unit ${claim.unit}, ${claim.adjacency} adjacency, sensitivity ${claim.sensitivity} clipping bounds; ` +
      `trust mode ${claim.trust_mode}, ${claim.colluders} ${claim.colluders === 1 ? "colluder" : "colluders"}; accountant ${claim.accountant}.`),
    make("p", {}, "It holds if:"),
    make("ul", {}, ...claim.assumptions.map(text => make("li", {}, text))));
}

function drawClaims(job) {
  const claims = byId("claims");
  if (!job.private) {
    claims.replaceChildren(make("p", {}, "NO PRIVACY: this job states no epsilon."));
  } else if (!job.claims.length) {
    claims.replaceChildren(make("p", {}, "Nothing is released, so nothing is spent."));
  } else {
    claims.replaceChildren(
      ...(job.seeded ? [make("p", {class: "loud"}, "SEEDED: these figures do not hold against a person who knows the seed.")] : []),
      ...job.claims.map(claimText));
  }
}

// Names and values side by side.
const pairs = rows => make("dl", {}, ...rows.map(([name, value]) =>
  make("div", {}, make("dt", {}, name), make("dd", {}, String(value)))));

function drawSettings(overview, job) {
  byId("settings-section").hidden = !job.settings?.length;
  byId("settings").replaceChildren(pairs(job.settings ?? []));
}

function drawDevices(overview) {
  byId("devices-section").hidden = !overview.devices;
  if (!overview.devices) return;
  const {registered, eligible, revoked, seen, connected, last_seen} = overview.devices;
  byId("devices").textContent = `${registered} registered: ${eligible} eligible, ${revoked} revoked` +
    (known(seen) ? `; ${seen} seen since this start of the server, ${connected} connected now` : "") +
    (known(last_seen) && !connected ? `; the last one was seen at ${time(last_seen)}` : "");
  byId("show-devices").hidden = !overview.live;
}

// A table of devices that is sorted by the column whose heading was pressed; names ascend, numbers descend.
//   columns  field: heading; cells(device): a text for each
const sortedBy = {};
function drawSorted(place, columns, devices, cells) {
  const by = sortedBy[place] ?? "id";
  const order = (a, b) => by === "id" ? a.id.localeCompare(b.id) : Number(b[by] ?? 0) - Number(a[by] ?? 0);
  const list = table(Object.values(columns), [...devices].sort(order).map(cells));
  list.querySelectorAll("th").forEach((cell, i) => {
    const field = Object.keys(columns)[i];
    if (field === by) cell.setAttribute("aria-sort", field === "id" ? "ascending" : "descending");
    cell.replaceChildren(make("button", {
      type: "button", onclick: () => { sortedBy[place] = field; drawSorted(place, columns, devices, cells); }}, cell.textContent));
  });
  byId(place).replaceChildren(list);
}

const kTurnColumns = {used: "turns used", left: "left", last_round: "last asked in round"};
const turnCells = device => Object.keys(kTurnColumns).map(field => number(device[field]));

// Counts of a job of passes. A live page has each device's among the names of the devices.
function drawTurns(job) {
  const turns = job.turns;
  byId("turns-section").hidden = !turns;
  if (!turns) return;
  say(byId("turns"), `A device takes part in at most ${turns.participations} rounds of this job. ` +
    `${turns.with_a_turn_left} devices have a turn left; a round needs ${turns.cohort}.`);
  say(byId("not-asked"), turns.never_asked ? `Never asked: ${turns.never_asked}.` : "Every device was asked.");
  byId("turns-by").replaceChildren(table(["turns used", "devices"], turns.by_turns.map(each => [number(each.turns), number(each.devices)])));
  byId("turns-details").hidden = !turns.devices;
  if (turns.devices && byId("turns-details").open) {
    drawSorted("turns-list", {id: "name", ...kTurnColumns}, turns.devices, device => [device.id, ...turnCells(device)]);
  }
}

function drawNetwork(overview) {
  byId("network-section").hidden = !overview.network;
  if (!overview.network) return;
  byId("network").replaceChildren(
    pairs(Object.entries(overview.network).map(([name, value]) => [name.replaceAll("_", " "), number(value)])));
}

function logLine(text) {
  const isWarning = /\b(WARNING|ALARM)\b/.test(text);
  if (byId("warnings-only").checked && !isWarning) return null;
  return make("span", {class: isWarning ? "warning" : null}, `${text}\n`);
}

function addToLog(line) {
  const element = logLine(line);
  const log = byId("log");
  if (element) log.append(element);
  while (log.childElementCount > kLogLines) log.firstElementChild.remove();
  if (byId("follow").checked) log.scrollTop = log.scrollHeight;
}

function drawLog(overview) {
  byId("log-section").hidden = !overview.log;
  byId("log").replaceChildren();
  for (const line of overview.log ?? []) addToLog(line);
}

// The parts of the page; those of a job are hidden without one.
const parts = {head: drawHead, figures: drawFigures, charts: drawCharts, rounds: (overview, job) => drawRounds(job), jobs: drawJobs,
               claims: (overview, job) => drawClaims(job), turns: (overview, job) => drawTurns(job), settings: drawSettings, devices: drawDevices,
               network: drawNetwork, log: drawLog};
const kOfJobs = {figures: "figures", charts: "charts", rounds: "rounds-section", jobs: "jobs-section",
                 claims: "claims-section", turns: "turns-section", settings: "settings-section"};

function draw(names = Object.keys(parts)) {
  const job = shown.job();
  for (const name of names) {
    if (kOfJobs[name]) byId(kOfJobs[name]).hidden = !job;
    if (job || !kOfJobs[name]) parts[name](shown.overview, job);
  }
}

// Once a frame, however many events come.
const due = new Set();
function drawSoon(...names) {
  if (!due.size) requestAnimationFrame(() => { const all = [...due]; due.clear(); draw(all); });
  for (const name of names) due.add(name);
}

const kDeviceColumns = {id: "name", connected: "connected", last_seen: "last seen", reports: "reports",
                        last_reported: "last in round", registered: "registered", revoked: "revoked"};

function drawDeviceList(devices) {
  const hasTurns = devices.some(device => known(device.used));
  drawSorted("device-list", hasTurns ? {...kDeviceColumns, ...kTurnColumns} : kDeviceColumns, devices, device =>
    [device.id, device.connected ? "yes" : "no", device.connected ? "now" : time(device.last_seen), number(device.reports),
     number(device.last_reported), time(device.registered), device.revoked ? time(device.revoked) : "no",
     ...(hasTurns ? turnCells(device) : [])]);
}

async function showDevices() {
  try {
    const answer = await fetch("/api/devices");
    if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
    drawDeviceList((await answer.json()).devices);
    byId("show-devices").textContent = "Look again";
  } catch (error) {
    byId("device-list").textContent = `No names: ${error.message}`;
  }
}

// ---- 5 events

// Each changes the overview as its event says (server/src/views/live_overview.h), and says what is to be drawn.
const jobOf = data => shown.overview.jobs.find(job => job.job === data.job);
const kLogLines = 200;
let hasEnded = false;
const events = {
  round: data => {
    const job = jobOf(data);
    job.rounds.push(data.round);
    Object.assign(job, {claims: data.claims, turns: data.turns, attempts: data.attempts, rounds_released: data.rounds_released});
    drawSoon("head", "figures", "charts", "rounds", "claims", "turns", "jobs");
  },
  claims: data => {
    jobOf(data).claims = data.claims;
    drawSoon("claims");
  },
  attempt: data => {
    jobOf(data).attempt = data.attempt;
    drawSoon("figures");
  },
  evaluation: data => {
    jobOf(data).evaluations.push(data.evaluation);
    drawSoon("figures", "charts", "rounds", "jobs");
  },
  state: data => {
    Object.assign(jobOf(data), data);
    drawSoon("head", "figures", "jobs");
  },
  spectrum: data => {
    jobOf(data).spectrum = data.spectrum;
    drawSoon("charts");
  },
  devices: data => {
    shown.overview.devices = data;
    drawSoon("devices", "figures");
  },
  network: data => {
    shown.overview.network = data;
    drawSoon("network");
  },
  log: data => {
    shown.overview.log = [...shown.overview.log, data.line].slice(-kLogLines);
    if (!due.has("log")) addToLog(data.line);
  },
  jobs: () => refresh(),
  end: () => {
    hasEnded = true;
    connection("lost", "The server has ended. This is what it showed last; the page goes on trying.");
  },
};

function connection(state, text) {
  byId("connection").className = state;
  byId("connection").textContent = text;
}

// An event that was missed, or one of another start of the server: the overview is asked for anew.
function onEvent(name, message) {
  const sequence = Number(message.lastEventId);
  if (sequence <= shown.overview.sequence) return;
  if (sequence !== shown.overview.sequence + 1) {
    refresh();
    return;
  }
  shown.overview.sequence = sequence;
  try {
    events[name](JSON.parse(message.data));
  } catch (error) {
    refresh();
  }
}

// ---- 6 begin

let stream = null;
let isRefreshing = false;

// Takes the overview. The stream is opened first, so that nothing is missed between the two.
async function refresh() {
  if (isRefreshing) return;
  isRefreshing = true;
  try {
    const answer = await fetch("/api/overview");
    if (answer.status === 401) {
      stream?.close();
      stream = null;
      showLogin();
      return;
    }
    if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
    shown.overview = await answer.json();
    shown.clock = shown.overview.now - Date.now() / 1000;
    hasEnded = false;
    byId("login").hidden = true;
    byId("main").hidden = false;
    connection("live", "live");
    draw();
    if (!stream) follow();
  } catch (error) {
    if (!hasEnded) connection("lost", "No connection to the server; trying again.");
    setTimeout(refresh, 2000);
  } finally {
    isRefreshing = false;
  }
}

function follow() {
  stream = new EventSource("/api/events");
  stream.onopen = refresh;
  stream.onerror = () => {
    if (!hasEnded) connection("lost", "The connection to the server is lost; trying again.");
    if (stream?.readyState !== EventSource.CLOSED) return;
    stream = null;
    setTimeout(refresh, 2000);
  };
  for (const name of Object.keys(events)) stream.addEventListener(name, message => onEvent(name, message));
}

function showLogin(error = "") {
  byId("main").hidden = true;
  byId("login").hidden = false;
  byId("login-error").textContent = error;
  byId("token").focus();
}

async function logIn(token) {
  try {
    const answer = await fetch("/login", {method: "POST", body: new URLSearchParams({token})});
    if (!answer.ok) {
      showLogin(answer.status === 403 ? "This is not the token." : `The server answers ${answer.status}.`);
      return;
    }
  } catch (error) {
    showLogin("The server does not answer.");
    return;
  }
  byId("token").value = "";
  refresh();
}

// An address may carry the token behind its #, which no server sees. It leaves the address bar at once. False: there is
// none.
function logInByAddress() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return false;
  history.replaceState(null, "", location.pathname);
  logIn(token);
  return true;
}

// Charts take their colours when they are made.
function makeChartsAnew() {
  for (const chart of shown.charts) chart.forget();
  if (shown.overview) draw(["charts"]);
}

function listen() {
  byId("show-devices").addEventListener("click", showDevices);
  byId("warnings-only").addEventListener("change", () => drawSoon("log"));
  byId("all-rounds").parentElement.addEventListener("toggle", () => drawSoon("rounds"));
  byId("turns-details").addEventListener("toggle", () => drawSoon("turns"));
  byId("login").addEventListener("submit", event => {
    event.preventDefault();
    logIn(byId("token").value.trim());
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", makeChartsAnew);
  addEventListener("beforeprint", () => { document.documentElement.dataset.print = ""; makeChartsAnew(); });
  addEventListener("afterprint", () => { delete document.documentElement.dataset.print; makeChartsAnew(); });
}

function begin() {
  listen();
  const report = byId("overview");
  if (report) {
    shown.overview = JSON.parse(report.textContent);
    byId("main").hidden = false;
    draw();
    return;
  }
  addEventListener("hashchange", logInByAddress);
  // The time that an open attempt has left.
  setInterval(() => { if (shown.overview && shown.job()?.attempt) drawSoon("figures"); }, 1000);
  if (!logInByAddress()) refresh();
}

begin();
