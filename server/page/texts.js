// Draws an overview (server/src/overview/overview.h): live from `sotto serve`, or the one that a report holds. The scripts
// run in this order, each with what those before it define:
//
//   texts.js    numbers, times, elements
//   chart.js    a chart on the page, and its picture
//   charts.js   the table of charts, one row each: to add one, add a row
//   first.js    the first screen: state, privacy, model, fleet, log
//   details.js  the rest of the page
//   page.js     what the page shows, events, login and stream
//
// All texts of an overview reach the page as text, never as markup. Rounds count from 1, times are seconds since 1970,
// null is a figure that is not known, "Infinity" one that is infinite.
"use strict";

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

const wholeText = new Intl.NumberFormat("en");  // value.toLocaleString() makes one each time, which is slow

// With four digits, or as many as a whole number has.
function number(value) {
  if (!known(value)) return "–";
  if (!Number.isFinite(value)) return String(value).startsWith("-") ? "-∞" : "∞";
  if (Number.isInteger(value)) return wholeText.format(value);
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

// Without the day if it is the server's present one.
function clock(seconds) {
  const text = time(seconds);
  return text.slice(0, 10) === time(shown.now()).slice(0, 10) ? text.slice(11) : text;
}

function duration(seconds) {
  if (!known(seconds)) return "–";
  if (seconds > 0 && seconds < 1) return `${Number(seconds.toPrecision(2))} s`;
  if (seconds < 100) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 100) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

// "about 93 min": of times that nobody knows to the second.
function roughly(seconds) {
  if (seconds < 90) return `about ${Math.ceil(seconds)} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 100 ? `about ${minutes} min` : `about ${duration(60 * minutes)}`;
}

const plural = (count, name) => `${number(count)} ${name}${count === 1 ? "" : "s"}`;

// What a chart draws of a figure: an infinite one is a gap.
const drawn = value => Number.isFinite(value) ? value : null;

// A table of texts with a caption for those who hear it. A cell that starts with a digit is a number.
function table(caption, head, rows) {
  const kind = text => /^[\d–∞-]/.test(text) ? "number" : text.length > 24 ? "words" : null;
  const cell = (tag, text) => make(tag, {class: kind(String(text))}, String(text));
  return make("table", {}, make("caption", {class: "spoken"}, caption),
              make("thead", {}, make("tr", {}, ...head.map(text => make("th", {scope: "col"}, text)))),
              make("tbody", {}, ...rows.map(row => make("tr", {}, ...row.map(text => cell("td", text))))));
}

// What an epsilon of this job does not promise; it stands wherever an epsilon does.
function caveat(job) {
  if (!job.private) return "NO PRIVACY: the mechanism of this job protects nothing.";
  return job.seeded ? "SEEDED: not private. No epsilon holds against a person who knows the seed." : "";
}

const someKnown = (rows, field) => rows.some(row => known(row[field]));
const lossOf = evaluation => evaluation.mean_squared_error ?? evaluation.loss;
const isRegression = job => job.evaluations.some(each => known(each.mean_squared_error));
const isOperators = overview => overview.audience === "operator";
const testText = test => !test ? "–" : known(test.accuracy) ? percent(test.accuracy) : number(lossOf(test));

// What the page shows.
const shown = {
  overview: null,
  devices: null,  // of /api/devices; null: nobody has asked
  charts: [],
  clock: 0,  // the server's clock less this machine's, seconds
  job: () => last(shown.overview.jobs),
  now: () => Date.now() / 1000 + shown.clock,
};
