// The first screen: state, privacy, model, fleet, log. texts.js has the map. Its places have fixed sizes, so nothing
// below them moves when their texts change; what does not fit is scrolled to.
"use strict";

const kStates = {running: "running", waiting: "waiting", paused: "paused", finished: "finished",
                 "gave-up": "GAVE UP", interrupted: "interrupted"};
// How a job ended (`ended` of its JSON), and which ends want somebody to act.
const kEnds = {"all-rounds": "over: all rounds released", "no-turns": "over: no turns left", budget: "over: budget spent",
               operator: "over: stopped by the operator", replaced: "over: replaced by another job",
               diverged: "DIVERGED", "gave-up": "GAVE UP"};
const kLoudEnds = ["diverged", "gave-up"];

const stateText = job => kEnds[job.ended] ?? kStates[job.state] ?? job.state;
const isLoud = job => kLoudEnds.includes(job.ended ?? job.state);

function drawHead(overview, job) {
  document.title = job ? `${stateText(job)}: ${job.model} – Sotto` : "Sotto";
  say(byId("title"), job ? `${job.model}, job ${job.job} of ${overview.source}` : overview.source ?? "Sotto");
  say(byId("view"), isOperators(overview)
    ? "Operator's view: counts and times tell who took part; do not publish them. `sotto report` writes what may be shown."
    : "Published view: without what tells who took part.");
  byId("warning").hidden = !job || !caveat(job);
  say(byId("warning"), job ? caveat(job) : "");
  byId("connection").hidden = !overview.live;
  say(byId("footer"), `sotto ${overview.sotto_version}` +
    (overview.live ? `, started ${time(overview.started)}` : `, written ${time(overview.now)}`));
}

// ---- state

// Seconds until the last planned round, as long as the last rounds took; null: nobody knows.
function secondsLeft(job) {
  const times = job.rounds.slice(-10).map(round => round.published).filter(known);
  if (job.state !== "running" || times.length < 2 || !job.rounds_planned) return null;
  const each = (last(times) - times[0]) / (times.length - 1);
  return Math.max(0, (job.rounds_planned - job.rounds_released) * each - (shown.now() - last(times)));
}

function attemptText(attempt) {
  const left = attempt.deadline - shown.now();
  return `round ${number(attempt.round)}, attempt ${attempt.attempt}: ${attempt.drawn} drawn, ` +
    (left > 0 ? `${duration(left)} left` : "closing");
}

function drawState(overview, job) {
  const progress = byId("progress");
  byId("progress-of").hidden = !job;
  byId("state").className = job && isLoud(job) ? "loud" : `is-${job?.state ?? "none"}`;
  if (!job) {
    say(byId("state"), overview.devices?.registered === 0 ? "no device yet" : "no job yet");
    say(byId("reason"), "");
    say(byId("attempt"), "");
  } else {
    say(byId("state"), stateText(job));
    say(byId("reason"), job.reason ?? "");
    const left = secondsLeft(job);
    say(byId("progress-text"), `${number(job.rounds_released)} of ${plural(job.rounds_planned, "round")} released` +
      (left === null ? "" : `; ${roughly(left)} left`));
    progress.max = Math.max(1, job.rounds_planned ?? 1);
    progress.value = job.rounds_released;
    say(byId("attempt"), job.attempt ? attemptText(job.attempt) : "");
  }
  drawFirstSteps(overview, job);
}

// The commands that a store without devices or without a job needs.
function drawFirstSteps(overview, job) {
  const steps = byId("steps");
  steps.hidden = !isOperators(overview) || Boolean(job);
  if (steps.hidden) return;
  const store = overview.source ?? "STORE";
  const step = (text, command) => make("li", {}, `${text}: `, make("code", {}, command));
  steps.replaceChildren(
    ...(overview.devices?.registered ? [] : [step("add devices", `sotto keys new ${store} NAME...`)]),
    step("begin a job", `sotto job start ${store} --model ...`));
}

// ---- privacy

// An upper bound on a share, with one decimal.
const percentUp = value => `${(Math.ceil(Math.min(value, 1) * 1000 - 1e-9) / 10).toFixed(1)} %`;

// Why a claim has no finite epsilon, though its other figures are finite; empty: it has one.
function infinityText(claim) {
  if (Number.isFinite(claim.epsilon)) return "";
  return !known(claim.mu) ? "No epsilon is proved at this delta: read it as no protection"
    : "No epsilon is proved at this delta: with so little noise the encoder's terms need more than that delta; the " +
      "attacker's figure needs none";
}

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
  return [texts.join("; "), infinityText(claim)].filter(Boolean).join(". ");
}

// What is left of a budget is rounded down.
const leftText = value => (Math.floor(value * 1000) / 1000).toLocaleString("en", {maximumFractionDigits: 3});

// The first claim, and how much of its budget is left; then the others.
function drawPrivacy(overview, job) {
  const place = byId("privacy");
  const claim = job?.claims[0];
  const before = last(overview.jobs.slice(0, -1).filter(each => each.claims.length));
  const turns = job?.turns;
  const turnsText = turns && `${number(turns.with_a_turn_left)} devices have a turn left; a round needs ${number(turns.cohort)}`;
  if (!claim) {
    place.replaceChildren(
      make("p", {class: "large"}, job && !job.private ? "NO PRIVACY" : `nothing spent${before ? " in this job" : ""}`),
      make("p", {}, !job ? "" : !job.private ? "This job states no epsilon." : "Nothing is released yet."),
      ...(before ? [make("p", {}, `job ${before.job} ended at ε ${epsilonText(before.claims[0].epsilon)}, delta ${deltaText(before.claims[0].delta)}`)] : []),
      ...(job && Number.isFinite(job.epsilon_budget) ? [make("p", {}, `budget: ε ${number(job.epsilon_budget)}`)] : []),
      ...(turnsText ? [make("p", {}, turnsText)] : []));
    return;
  }
  const budget = Number.isFinite(job.epsilon_budget) ? job.epsilon_budget : null;
  const share = budget === null ? null : Number.isFinite(claim.epsilon) ? Math.min(1, claim.epsilon / budget) : 1;
  const left = budget === null || !Number.isFinite(claim.epsilon) ? null : Math.max(0, budget - claim.epsilon);
  place.replaceChildren(
    make("p", {class: "large"}, "ε ", make("span", {class: "epsilon"}, epsilonText(claim.epsilon)),
         budget === null ? "" : ` of ${number(budget)}`, job.seeded ? ", SEEDED" : ""),
    ...(budget === null ? [make("p", {class: "note"}, "no budget is set")] : [
      make("p", {}, left ? `ε ${leftText(left)} left` : "the budget is spent"),
      make("progress", {max: 1, value: share, "aria-label": "share of the budget that is spent"})]),
    ...(turnsText ? [make("p", {}, turnsText)] : []),
    ...(infinityText(claim) ? [make("p", {}, "no epsilon is proved at this delta; why: in the privacy statement")] : []),
    make("p", {class: "note"}, `${claim.against}; delta ${deltaText(claim.delta)}, unit ${claim.unit}, ${claim.adjacency}` +
      (known(claim.attacker_right) ? `; attacker right ${percentUp(claim.attacker_right)}` : "")),
    ...job.claims.slice(1).map(each => make("p", {class: "note"}, "ε ",
      make("span", {class: "epsilon"}, epsilonText(each.epsilon)), ` ${each.against}`)));
}

// ---- model

// "+1.2 points since round 35"; empty: there is nothing to compare with.
function changeText(job) {
  const [before, now] = job.evaluations.slice(-2);
  if (!now || before.data !== now.data) return "";
  if (!known(now.accuracy) || !known(before.accuracy)) return `${number(lossOf(before))} after round ${number(before.round)}`;
  const points = Math.round(1000 * (now.accuracy - before.accuracy)) / 10;
  return `${points < 0 ? "−" : "+"}${Math.abs(points).toFixed(1)} points since round ${number(before.round)}`;
}

function drawModel(overview, job) {
  const place = byId("model");
  const test = job && last(job.evaluations);
  const noisy = job && last(job.rounds.filter(round => known(round.device_accuracy)))?.device_accuracy;
  const devices = noisy ? [make("p", {}, `devices: ${percent(noisy.accuracy)} ± ${percent(noisy.bar)}, before the last round`)] : [];
  if (!test) {
    place.replaceChildren(make("p", {class: "large"}, noisy ? percent(noisy.accuracy) : "not evaluated"), ...devices,
      make("p", {class: "note"}, !job?.rounds.length || !isOperators(overview) ? "" : "--test DATA evaluates the model of each round."));
  } else {
    const loss = `${isRegression(job) ? "mean squared error" : "loss"} ${number(lossOf(test))}`;
    place.replaceChildren(
      make("p", {class: "large"}, known(test.accuracy) ? `${percent(test.accuracy)} accuracy` : number(lossOf(test))),
      make("p", {}, [loss, changeText(job)].filter(Boolean).join("; ")), ...devices,
      make("p", {class: "note"}, `after round ${number(test.round)}, on ${test.data ?? "test data"}` +
        (known(test.samples) ? `, ${plural(test.samples, "sample")}` : "")));
  }
  drawClasses(job);
}

// The worst class first.
function drawClasses(job) {
  const classes = job?.classes;
  byId("classes-details").hidden = !classes;
  if (!classes) return;
  const right = each => each.total ? each.correct / each.total : 2;
  const sorted = [...classes.rows].sort((a, b) => right(a) - right(b));
  const worst = sorted.length && sorted[0].total ? `, the worst is ${sorted[0].class}: ${percent(right(sorted[0]))}` : "";
  say(byId("classes-summary"), `Each class${worst}`);
  if (!byId("classes-details").open) return;
  const rows = sorted.map(each =>
    [String(each.class), each.total ? percent(each.correct / each.total) : "–", `${number(each.correct)} of ${number(each.total)}`]);
  byId("classes").replaceChildren(table(`Classes after round ${classes.round}, the worst first`, ["class", "right", "samples"], rows));
}

// ---- fleet

const kManyDevices = 200;  // beyond these nobody reads a list unasked

// A table of devices that is sorted by the column whose heading was pressed; names ascend, numbers descend.
//   columns  field: heading; cells(device): a text for each
const sortedBy = {};
function drawSorted(place, caption, columns, devices, cells) {
  const by = sortedBy[place] ?? "id";
  const worst = sortedBy[place] ? () => 0 : (a, b) => isOdd(b) - isOdd(a);  // unasked: what wants somebody to look comes first
  const isText = ["id", "state", "owner", "text"].includes(by);
  const order = (a, b) => isText ? String(a[by] ?? "").localeCompare(String(b[by] ?? "")) || a.id.localeCompare(b.id)
    : Number(b[by] ?? 0) - Number(a[by] ?? 0);
  const list = table(caption, Object.values(columns), [...devices].sort((a, b) => worst(a, b) || order(a, b)).map(cells));
  list.querySelectorAll("th").forEach((cell, i) => {
    const field = Object.keys(columns)[i];
    if (field === by) cell.setAttribute("aria-sort", isText ? "ascending" : "descending");
    cell.replaceChildren(make("button", {type: "button", onclick: () => {
      sortedBy[place] = field;
      drawSorted(place, caption, columns, devices, cells);
      byId(place).querySelectorAll("th button")[i].focus();
    }}, cell.textContent));
  });
  byId(place).replaceChildren(list);
}

// What a device is about; a server that does not say it knows who is connected.
const deviceState = device => device.state ?? (device.revoked ? "revoked" : device.connected ? "connected"
  : known(device.last_seen) ? "gone" : "not seen");
const kQuietStates = ["connected", "waiting", "training", "uploaded", "away", "revoked", "gone", "not seen"];

const isOdd = device => device.severity ? device.severity !== "ok" : Boolean(device.state) && !kQuietStates.includes(device.state);

const kNoticeStates = ["never-seen", "silent", "claimed"];  // they may pass by themselves
const stateClass = state => kQuietStates.includes(state) ? null : kNoticeStates.includes(state) ? "notice" : "odd";

const deviceColumns = {
  id: ["name", device => device.id],
  state: ["state", device => [device.text ? `${deviceState(device)}: ${device.text}` : deviceState(device), device.todo]
    .filter(Boolean).join("; ")],
  since: ["since", device => device.connected && !known(device.since) ? "now" : clock(device.since ?? device.last_seen)],
  used: ["turns used", device => number(device.turns_used ?? device.used)],
  left: ["left", device => number(device.turns_left ?? device.left)],
  last_round: ["last asked in round", device => number(device.last_round)],
  reports: ["reports", device => number(device.reports)],
  last_reported: ["last in round", device => number(device.last_reported)],
  rounds_silent: ["rounds silent", device => number(device.rounds_silent)],
  owner: ["owner", device => device.owner ?? ""],
  registered: ["registered", device => time(device.registered)],
  revoked: ["revoked", device => device.revoked ? time(device.revoked) : "no"],
};

// The columns that some device has something for.
function drawDeviceList(devices) {
  const field = {used: "turns_used", left: "turns_left"};
  const has = name => name === "id" || name === "state" || name === "since" ||
    devices.some(device => known(device[name]) && device[name] !== "" || known(device[field[name]]));
  const columns = Object.entries(deviceColumns).filter(([name]) => has(name));
  drawSorted("device-list", "Devices", Object.fromEntries(columns.map(([name, [heading]]) => [name, heading])),
             devices.map(device => ({...device, state: deviceState(device), used: device.turns_used ?? device.used,
                                     left: device.turns_left ?? device.left})),
             device => columns.map(([, [, textOf]]) => textOf(device)));
}

function drawFleet(overview) {
  byId("first").classList.toggle("is-report", !overview.log);
  byId("fleet-card").hidden = !overview.devices;
  if (!overview.devices) return;
  const {registered, eligible, revoked, connected, last_seen} = overview.devices;
  say(byId("devices"), !registered ? "No device yet." : `${plural(registered, "device")}: ${number(eligible)} eligible` +
    (revoked ? `, ${number(revoked)} revoked` : "") + (known(connected) ? `, ${number(connected)} connected` : "") +
    (known(last_seen) && !connected ? `; the last one was seen at ${time(last_seen)}` : ""));
  const counts = {};
  for (const device of shown.devices ?? []) counts[deviceState(device)] = (counts[deviceState(device)] ?? 0) + 1;
  const states = Object.entries(overview.devices.states ?? counts).filter(([, count]) => count);
  byId("states").replaceChildren(...states.map(([state, count]) =>
    make("li", {class: stateClass(state)}, `${number(count)} ${state.replaceAll("-", " ")}`)));
  byId("show-devices").hidden = !overview.live || !registered;
  byId("show-devices").textContent = shown.devices ? "Look again" : "Show names";
  if (shown.devices) drawDeviceList(shown.devices);
  else byId("device-list").replaceChildren();
  drawConnecting(overview);
}

function drawConnecting(overview) {
  byId("connecting").hidden = !overview.live;
  if (byId("connecting").hidden) return;
  const listens = overview.listens ?? "HOST:PORT";
  const port = listens.slice(listens.lastIndexOf(":") + 1);
  say(byId("listens"), `This server listens on ${listens}. A kit names the address by which devices reach this host:`);
  say(byId("connecting-server"), `sotto keys new ${overview.source ?? "STORE"} NAME --kits kits --server HOST:${port}`);
  say(byId("connecting-device"), "sotto-client --kit NAME.sotto");
}

async function showDevices() {
  try {
    const answer = await fetch("/api/devices");
    if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
    const devices = await answer.json();
    shown.devices = Array.isArray(devices) ? devices : devices.devices;
    drawSoon("fleet");
  } catch (error) {
    byId("device-list").textContent = `No names: ${error.message}`;
  }
}

// Whenever the counts have changed, of a fleet that can be looked over.
function lookAtFleet() {
  const registered = shown.overview.devices?.registered;
  if (shown.overview.live && registered && (registered <= kManyDevices || shown.devices)) showDevices();
}

// ---- log

const kLogLines = 200;
let newLines = [];  // of the overview's log, and not drawn yet

function logLine(text) {
  const isWarning = /\b(WARNING|ALARM)\b/.test(text);
  if (byId("warnings-only").checked && !isWarning) return null;
  return make("span", {class: isWarning ? "warning" : null}, `${text}\n`);
}

// Adds to what stands there, so that what is selected stays.
function drawNewLines() {
  const log = byId("log");
  log.append(...newLines.slice(-kLogLines).map(logLine).filter(known));
  newLines = [];
  while (log.childElementCount > kLogLines) log.firstElementChild.remove();
  if (byId("follow").checked) log.scrollTop = log.scrollHeight;
}

function drawLog(overview) {
  byId("log-card").hidden = !overview.log;
  byId("log").replaceChildren();
  newLines = overview.log ?? [];
  drawNewLines();
}
