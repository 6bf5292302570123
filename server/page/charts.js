// The table of charts: texts.js has the map.
"use strict";

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

// {id, title, about, x, y (labels of the axes), ofEpsilon, ofJobs (it stands beside the table of jobs), isLog, isWhole
// (y counts), text(value) on the axis, needs(job, overview), draw(job, overview) -> {x, lines, bands, y}}. A line: {name,
// values, series (number of its colour), dash, bars, points, width, gaps: a null is a gap, text(value, index): else the
// chart's}. A chart over rounds whose lines are all constant is a line of text.
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
       name: claim.against.replace(/^against (a person who sees )?/, ""), series: i + 1, dash: i ? [8 - i, 3 + i] : [], gaps: true,
       // Of the overview and not of the chart, which has a gap for what is infinite.
       text: (value, at) => epsilonText(shown.job()?.rounds[at]?.epsilon[claim.field]),
       values: job.rounds.map(round => drawn(round.epsilon[claim.field]))}));
     // While little is spent a line far above would press all others to the ground.
     const most = Math.max(...job.claims.map(claim => claim.epsilon));
     if (Number.isFinite(job.epsilon_budget) && most > job.epsilon_budget / 4) {
       lines.push({name: "budget", series: 6, dash: [2, 4], text: epsilonText,
                   values: job.rounds.map(() => job.epsilon_budget)});
     }
     return {x: roundsOf(job), lines};
   }},
  {id: "reports", title: "Reports", y: "devices", isWhole: true, about: "drawn devices that reported, zero updates in place of others, and refusals",
   needs: job => someKnown(job.rounds, "reported"),
   draw: job => ({x: roundsOf(job), lines: [
     {name: "planned", values: column(job, "planned_reports"), series: 6, dash: [2, 4]},
     {name: "reported", values: column(job, "reported"), series: 1},
     {name: "topped up", values: column(job, "topped_up"), series: 2, dash: [6, 4]},
     {name: "refused", values: column(job, "refused"), series: 4, dash: [2, 2]}]})},
  {id: "bytes", title: "Upload", y: "bytes", text: bytes, about: "bytes of all updates of a round",
   needs: job => someKnown(job.rounds, "update_bytes"),
   draw: job => ({x: roundsOf(job), lines: [{name: "all updates", values: column(job, "update_bytes"), series: 1}]})},
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
  {id: "timeline", title: "Times of the rounds", y: "seconds", text: duration,
   about: "from the opening to the deadline and to the publication",
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
  {id: "jobs-by-round", title: "Jobs side by side", ofJobs: true, about: "test figures of each job of the store",
   needs: (job, overview) => comparable(overview.jobs).jobs.length > 1,
   draw: (job, overview) => sideBySide(overview, each => each.evaluations.map(at => at.round))},
  {id: "jobs-by-epsilon", title: "Jobs by epsilon", ofJobs: true, about: "the same over what the released models cost", x: "epsilon",
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

// Draws those that vary, and says what the others are.
function drawCharts(overview, job) {
  byId("no-rounds").hidden = job.rounds.length > 0;
  const hasCharts = typeof uPlot !== "undefined";
  byId("no-charts").hidden = hasCharts;
  byId("constants-section").hidden = true;
  if (!hasCharts) return;
  if (!shown.charts.length) {
    shown.charts = charts.map(row => new Chart(row));
    for (const chart of shown.charts) byId(chart.row.ofJobs ? "jobs-charts" : "charts").append(chart.figure);
  }
  const constants = [];
  for (const chart of shown.charts) {
    const text = chart.update(job, overview);
    if (text) constants.push([chart.row.title, text]);
  }
  byId("constants-section").hidden = !constants.length;
  say(byId("constants-note"), job.rounds.length === 1 ? "After one round:" : "The same after every round:");
  byId("constants").replaceChildren(pairs(constants));
}
