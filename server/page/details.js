// What stands below the first screen: rounds, jobs, claims, turns, network, settings. texts.js has the map.
"use strict";

// Names and values side by side.
function pairs(rows) {
  return make("dl", {}, ...rows.map(([name, value]) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, String(value)))));
}

// ---- rounds

// A figure of a round as its unit wants it.
const unitTexts = {bytes, "seconds since 1970": time};
const textOf = (value, unit) => typeof value === "string" ? value
  : known(value?.accuracy) ? percent(value.accuracy) : (unitTexts[unit] ?? number)(value);

function roundsTable(caption, job, rounds) {
  const fields = job.claims.map(claim => claim.field);
  const tests = new Map(job.evaluations.map(each => [each.round, each]));
  const head = ["round", "test", ...fields.map(field => field.replaceAll("_", " ")), "clip", "noise sigma",
                ...job.columns.map(each => each.heading)];
  return table(caption, head, rounds.map(round => [
    number(round.round), testText(tests.get(round.round)), ...fields.map(field => epsilonText(round.epsilon[field])),
    number(round.clip_l2), number(round.noise_sigma),
    ...job.columns.map(each => textOf(round[each.field], each.unit))]));
}

// What a device moved on its link in the last round of which that is known, in the mean.
function trafficText(rounds) {
  const round = last(rounds.filter(each => known(each.turns)));
  return round ? `A device moved ${bytes(round.bytes_up)} up and ${bytes(round.bytes_down)} down in round ${round.round}, ` +
    `in ${number(round.turns)} turns.` : "";
}

// Shows the last ten rounds, and all of them when asked.
function drawRounds(overview, job) {
  byId("rounds-section").hidden = !job.rounds.length;
  say(byId("rounds-note"), [job.claims.length ? caveat(job) : "", trafficText(job.rounds)].filter(Boolean).join(" "));
  byId("rounds").replaceChildren(roundsTable("The last rounds, the newest first", job, job.rounds.slice(-10).reverse()));
  byId("all-rounds").parentElement.hidden = job.rounds.length <= 10;
  if (byId("all-rounds").parentElement.open) byId("all-rounds").replaceChildren(roundsTable("All rounds", job, job.rounds));
}

// ---- jobs

// The claims against observers of the network, with their columns in the table of jobs.
const kOfNetwork = [["epsilon_watcher", "who watches uploads"], ["epsilon_network", "who makes rounds fail, too"]];

// Lines of a file of --config, as one would type them.
const optionsText = settings => settings.trim()
  .replace(/^([\w-]+) = (.*)$/gm, (line, name, value) => value === '"true"' || value === "true" ? `--${name}` : `--${name} ${value}`)
  .replaceAll(/"([\w.,:-]+)"/g, "$1").replaceAll("\n", " ");

function drawJobs(overview) {
  const queue = overview.queue ?? [];
  byId("jobs-section").hidden = overview.jobs.length < 2 && !queue.length;
  byId("queue").hidden = !queue.length;
  byId("queue").replaceChildren(...queue.map(each => make("li", {},
    `request ${each.request} of ${time(each.asked)} waits for its turn: `, make("code", {}, optionsText(each.settings)))));
  byId("jobs").hidden = overview.jobs.length < 2;
  const rows = overview.jobs.map(job => {
    const headline = job.claims[0];
    return [number(job.job), job.model, job.mechanism, stateText(job), time(job.begun),
            `${number(job.rounds_released)} of ${number(job.rounds_planned)}`,
            testText(last(job.evaluations)),
            !job.private ? "NO PRIVACY" : headline ? epsilonText(headline.epsilon) + (job.seeded ? ", seeded" : "") : "–",
            ...kOfNetwork.map(([field]) => epsilonText(job.claims.find(claim => claim.field === field)?.epsilon))];
  });
  byId("jobs").replaceChildren(table(
    "Jobs of this store", ["job", "model", "mechanism", "state", "begun", "rounds", "test", "epsilon of the released models",
                           ...kOfNetwork.map(([, heading]) => heading)], rows));
}

// ---- claims

function claimText(claim) {
  return make("div", {class: "claim"},
    make("h3", {}, `epsilon ${epsilonText(claim.epsilon)} at delta ${deltaText(claim.delta)} `),
    make("p", {}, claim.against),
    strengthOf(claim) ? make("p", {}, `${strengthOf(claim)}.`) : null,
    make("p", {class: "note"}, `Adversary ${claim.adversary}, who sees ${claim.view.replaceAll("-", " ")}; ` +
      `unit ${claim.unit}, ${claim.adjacency} adjacency, sensitivity ${claim.sensitivity} clipping bounds; ` +
      `trust mode ${claim.trust_mode}, ${plural(claim.colluders, "colluder")}; accountant ${claim.accountant}.`),
    make("p", {}, "It holds if:"),
    make("ul", {}, ...claim.assumptions.map(text => make("li", {}, text))));
}

function drawClaims(overview, job) {
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

// ---- turns

const kTurnColumns = {used: "turns used", left: "left", last_round: "last asked in round"};

// Counts of a job of passes. A live page has each device's among the names of the devices.
function drawTurns(overview, job) {
  const turns = job.turns;
  byId("turns-section").hidden = !turns;
  if (!turns) return;
  say(byId("turns"), `A device takes part in at most ${turns.participations} rounds of this job. ` +
    `${turns.with_a_turn_left} devices have a turn left; a round needs ${turns.cohort}.`);
  say(byId("not-asked"), turns.never_asked ? `Never asked: ${turns.never_asked}.` : "Every device was asked.");
  byId("turns-by").replaceChildren(table("How many devices have used how many turns", ["turns used", "devices"],
                                         turns.by_turns.map(each => [number(each.turns), number(each.devices)])));
  byId("turns-details").hidden = !turns.devices;
  if (turns.devices && byId("turns-details").open) {
    drawSorted("turns-list", "Turns of each device", {id: "name", ...kTurnColumns}, turns.devices,
               device => [device.id, ...Object.keys(kTurnColumns).map(field => number(device[field]))]);
  }
}

// ---- network and settings

function drawNetwork(overview) {
  byId("network-section").hidden = !overview.network;
  if (!overview.network) return;
  byId("network").replaceChildren(
    pairs(Object.entries(overview.network).map(([name, value]) => [name.replaceAll("_", " "), number(value)])));
}

function drawSettings(overview, job) {
  byId("settings-section").hidden = !job.settings?.length;
  byId("settings").replaceChildren(pairs(job.settings ?? []));
}
