// What the page shows, what changes it, login and stream: texts.js has the map.
"use strict";

// ---- parts

// The parts of the page, and the element that is hidden without a job.
const parts = {
  head: [drawHead], state: [drawState], privacy: [drawPrivacy], model: [drawModel], fleet: [drawFleet], log: [drawLog], newLines: [drawNewLines],
  charts: [drawCharts, "charts-section"], rounds: [drawRounds, "rounds-section"], jobs: [drawJobs],
  claims: [drawClaims, "claims-section"], turns: [drawTurns, "turns-section"], network: [drawNetwork],
  settings: [drawSettings, "settings-section"],
};

function draw(names = Object.keys(parts)) {
  const job = shown.job();
  for (const name of names) {
    const [drawIt, place] = parts[name];
    if (place) byId(place).hidden = !job;
    if (job || !place) drawIt(shown.overview, job);
  }
  // A link leads to what is there.
  for (const link of document.querySelectorAll("nav a")) link.hidden = byId(link.hash.slice(1)).hidden;
}

// Four times a second at most, however many events come: nobody reads faster.
const kDrawMs = 250;
const due = new Set();
let drawnAt = -kDrawMs;
function drawSoon(...names) {
  if (!due.size) setTimeout(requestAnimationFrame, Math.max(0, drawnAt + kDrawMs - performance.now()), drawDue);
  for (const name of names) due.add(name);
}

function drawDue() {
  const all = [...due];
  due.clear();
  draw(all);
  drawnAt = performance.now();
}

// ---- events

// Each changes the overview as its event says (server/src/overview/live_overview.h), and says what is to be drawn.
const jobOf = data => shown.overview.jobs.find(job => job.job === data.job);
let hasEnded = false;
const events = {
  round: data => {
    const job = jobOf(data);
    job.rounds.push(data.round);
    Object.assign(job, {claims: data.claims, turns: data.turns, attempts: data.attempts, rounds_released: data.rounds_released});
    drawSoon("head", "state", "privacy", "model", "charts", "rounds", "claims", "turns", "jobs");
  },
  claims: data => {
    jobOf(data).claims = data.claims;
    drawSoon("privacy", "claims");
  },
  attempt: data => {
    jobOf(data).attempt = data.attempt;
    drawSoon("state");
  },
  evaluation: data => {
    jobOf(data).evaluations.push(data.evaluation);
    jobOf(data).classes = data.classes;
    drawSoon("model", "charts", "rounds", "jobs");
  },
  state: data => {
    Object.assign(jobOf(data), data);
    drawSoon("head", "state", "privacy", "jobs");
  },
  spectrum: data => {
    jobOf(data).spectrum = data.spectrum;
    drawSoon("charts");
  },
  devices: data => {
    shown.overview.devices = data;
    drawSoon("state", "fleet");
    lookAtFleet();
  },
  queue: data => {
    shown.overview.queue = data.queue;
    drawSoon("jobs");
  },
  network: data => {
    shown.overview.network = data;
    drawSoon("network");
  },
  log: data => {
    shown.overview.log = [...shown.overview.log, data.line].slice(-kLogLines);
    newLines.push(data.line);
    drawSoon("newLines");
  },
  begin: () => refresh(),  // another job
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

// ---- begin

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
    lookAtFleet();
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
  byId("classes-details").addEventListener("toggle", () => drawSoon("model"));
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
  setInterval(() => { if (shown.overview && shown.job()?.attempt) drawSoon("state"); }, 1000);
  if (!logInByAddress()) refresh();
}

begin();
