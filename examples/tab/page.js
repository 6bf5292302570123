// The page of sotto-tab.html: settings become a command line, a worker runs it, and what it says is drawn.
"use strict";

const $ = id => document.getElementById(id);

// The nets that made-up images suit, and those that the page writes for a file.
const kNets = [
  ["softmax-784-10", "softmax, 7,850 parameters"],
  ["small-cnn", "small-cnn, 9,098 parameters"],
  ["mlp", "mlp, 50,890 parameters"],
  ["lenet", "lenet, 61,706 parameters"],
];
const kNetsOfFiles = [
  ["softmax", "softmax", [dense]],
  ["hidden", "a hidden layer of 32", [() => dense(0, 32), relu, dense]],
];
const kNetFile = "net.toml";
// What `sotto simulate` takes if an option is not named.
const kFields = [["devices", "devices", "1000"], ["samples", "samples-per-device", "50"], ["epsilon", "epsilon", "6"],
                 ["participations", "participations", "4"], ["smoothing", "smoothing", "0"]];
// Digests that the native program reaches; the second one also boards and their server (tests/e2e/board.sh, fleet).
const kNative = {NATIVE};

let program = null;  // its bytes
let worker = null;   // while it runs
let file = null;     // {name, bytes, shape: what `look` says of it}

function dense(inputs, outputs) { return `[[layer]]\nkind = "dense"\noutputs = ${outputs}\n`; }
function relu() { return '[[layer]]\nkind = "relu"\n'; }

function netText() {
  const layers = kNetsOfFiles.find(([name]) => name === $("net").value)[2];
  const {inputs, classes} = file.shape;
  return [`name = "${$("net").value}"\ninput = [${inputs}]\n`, ...layers.map(layer => layer(inputs, classes))].join("\n");
}

// The samples of the file, for --data: commas, colons and so on in its name have no meaning.
const quoted = name => name.replace(/[\\,=:]/g, "\\$&");
function dataText() {
  if (!file) return "synthetic";
  const columns = $("columns-text").value.trim();
  return quoted(file.name) + (columns ? `:${columns}` : "");
}

// The options of the form, those alone that say something.
function options() {
  const list = ["--data", dataText()];
  const net = $("net").value;
  if (file) list.push("--model", kNetFile);
  else if (net !== kNets[0][0]) list.push("--model", net);
  for (const [id, option, by_default] of kFields) {
    const value = $(id).value.trim();
    if (value !== "" && value !== by_default) list.push(`--${option}`, value);
  }
  const seed = $("seed").value.trim();
  return seed === "" ? list : [...list, "--seed", seed];
}

const forShell = word => /^[\w.,:=/+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
const commandText = list => `sotto simulate ${list.map(forShell).join(" ")} --model-out model.f32 && sha256sum model.f32`;

// Numbers for people. An epsilon is an upper bound, so it is rounded up.
const percent = share => `${(100 * share).toFixed(1)} %`;
const upward = value => (Math.ceil(value * 1000) / 1000).toFixed(3);
function bytesText(bytes, short) {
  const power = bytes < 1000 ? 0 : Math.min(3, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** power).toFixed(power && !short ? 1 : 0)} ${["B", "kB", "MB", "GB"][power]}`;
}

function make(name, attributes, ...children) {
  const svg = ["svg", "path", "line", "text"].includes(name);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// A chart of lines over the rounds.
//   lines  [{name, series, dash, of: round => number or null}]
class Chart {
  constructor(title, about, textOf, lines, least) {
    Object.assign(this, {title, textOf, lines, least});
    this.value = make("p", {class: "value"}, "\u00A0");
    this.svg = make("svg", {viewBox: "0 0 320 150", role: "img", "aria-label": `${title}: no round yet`});
    const keys = lines.length < 2 ? [] : lines.map(({name, series, dash}) => make("span", {class: "note"},
      make("span", {class: "key", style: `border-color: var(--${series}); border-top-style: ${dash ? "dashed" : "solid"}`}), `${name} `));
    this.figure = make("figure", {class: "chart"}, make("figcaption", {}, make("h3", {}, title)), this.value, this.svg,
                       make("p", {class: "about"}, about, ...(keys.length ? [make("br", {}), ...keys] : [])));
  }

  draw(rounds, all) {
    const left = 48, right = 312, top = 8, bottom = 128;
    const values = this.lines.map(line => rounds.map(line.of));
    const most = Math.max(this.least, ...values.flat().filter(value => value !== null));
    const x = round => left + (right - left) * (all < 2 ? 0 : (round - 1) / (all - 1));
    const y = value => bottom - (bottom - top) * value / most;
    this.svg.replaceChildren(
      ...[0, 0.5, 1].flatMap(part => [
        make("line", {class: "grid", x1: left, x2: right, y1: y(part * most), y2: y(part * most)}),
        make("text", {x: left - 5, y: y(part * most) + 4, "text-anchor": "end"}, this.textOf(part * most, true))]),
      make("text", {x: left, y: 146}, "round 1"), make("text", {x: right, y: 146, "text-anchor": "end"}, `${all}`),
      ...this.lines.map(({series, dash}, line) => {
        const points = values[line].map((value, at) => [rounds[at].round, value]).filter(([, value]) => value !== null);
        const path = points.length === 1 ? `h1` : "";
        return make("path", {style: `stroke: var(--${series})`, ...(dash ? {"stroke-dasharray": "5 4"} : {}),
          d: points.map(([round, value], at) => `${at ? "L" : "M"}${x(round).toFixed(1)} ${y(value).toFixed(1)}`).join("") + path});
      }));
    const last = this.lines.map((line, at) => values[at].at(-1) ?? null);
    const text = last[0] === null ? "none" : this.textOf(last[0]);
    this.value.textContent = rounds.length ? text : "\u00A0";
    this.svg.setAttribute("aria-label", rounds.length ? `${this.title} after round ${rounds.at(-1).round}: ${text}`
                                                      : `${this.title}: no round yet`);
  }
}

const kCharts = [
  new Chart("Accuracy", "Of the net, on samples that no device has.", (share, short) => short ? `${Math.round(100 * share)} %` : percent(share),
            [{name: "accuracy", series: "series-1", of: round => round.accuracy}], 1),
  new Chart("Epsilon", "What the released nets tell about one device, at most. A limit on its rounds makes it one figure from the first on.",
            (value, short) => short ? value.toFixed(1) : upward(value),
            [{name: "epsilon", series: "series-2", of: round => round.privacy?.epsilon ?? null}], 1),
  new Chart("Bytes, both ways", "Of all devices so far.", bytesText,
            [{name: "Sotto", series: "series-3", of: round => round.bytes},
             {name: "as float32", series: "series-6", dash: true, of: round => round.bytes_float32}], 1),
];

function say(id, text) { $(id).textContent = text; }

function setState(text, kind = "") {
  say("state", text);
  $("state").className = kind;
}

// What went wrong, in the program's words.
function complain(text) {
  $("message").hidden = text === "";
  say("message", text);
}

// Runs the program once. Resolves to its exit status and what it wrote on standard error.
//   on_event  is called with each event
function start(list, files, on_event) {
  const source = new Blob([$("worker").textContent], {type: "text/javascript"});
  const address = URL.createObjectURL(source);
  worker = new Worker(address);
  return new Promise(resolve => {
    const errors = [];
    const end = status => {
      worker?.terminate();
      worker = null;
      URL.revokeObjectURL(address);
      resolve({status, errors: errors.join("\n")});
    };
    worker.onerror = event => { errors.push(event.message || "the worker could not start"); end(1); };
    worker.onmessage = ({data}) => {
      if (data.status !== undefined) end(data.status);
      else if (data.error !== undefined) errors.push(data.error);
      else on_event(JSON.parse(data.line));
    };
    worker.end = end;
    worker.postMessage({wasm: program, files, options: list});
  });
}

function setRunning(runs) {
  $("train").disabled = runs;
  $("stop").hidden = !runs;
}

// A sum over the rounds so far.
function addRound(rounds, event) {
  const before = rounds.at(-1) ?? {bytes: 0, bytes_float32: 0};
  rounds.push({...event, bytes: before.bytes + (event.bytes_up ?? 0) + (event.bytes_down ?? 0),
               bytes_float32: before.bytes_float32 + (event.bytes_float32 ?? 0)});
}

function draw(rounds, all) {
  for (const chart of kCharts) chart.draw(rounds, all);
  $("progress").max = all;
  $("progress").value = rounds.length;
  if (rounds.length) say("progress-text", `round ${rounds.length} of ${all}`);
}

// Nothing is trained.
function clearResults() {
  complain("");
  say("digest", "After the last round.");
  say("privacy", "After the first round.");
  for (const id of ["comparison", "command", "command-note", "progress-text"]) say(id, "");
  $("comparison").className = "";
  $("report-details").hidden = $("net-details").hidden = true;
  draw([], 1);
}

function privacyText(end) {
  if (typeof end.epsilon !== "number") return `No figure. ${end.privacy_note ?? ""}`;
  const seeded = end.seed !== null
    ? " Seeded: not private; no epsilon holds against a person who knows the seed. Leave the seed empty for a run by chance."
    : "";
  return `epsilon ${upward(end.epsilon)} at delta ${end.delta.toExponential()}: an upper bound on what the released nets tell about ` +
    `one ${end.unit}. Adjacency: ${end.adjacency}; sampling: ${end.sampling}, ${end.cohort} of ${end.devices} devices a round; trust ` +
    `mode: ${end.trust_mode}, so the noise protects the released nets, and nothing protects against the server.${seeded}`;
}

function compare(list, digest) {
  const known = kNative.find(row => row.options === list.join(" "));
  const is_same = known && known.sha256 === digest;
  const is_smoothed = list.includes("--smoothing");
  say("comparison", is_smoothed ? "With smoothing the digest may differ from the native program's, whose Fourier transform rounds " +
      "differently. Without smoothing both are the same."
    : !known ? "Compare with the native program, which gives the same digest by this command:"
    : is_same ? "The same digest as the native program's, by this command:"
    : `NOT the digest of the native program, ${known.sha256}, by this command. Please report this browser.`);
  $("comparison").className = !known ? "" : is_same ? "same" : "other";
}

function showBoards() {
  const [, {options, sha256}] = kNative;
  say("boards", "Boards reach the simulator's model, too: five emulated Cortex-M boards and a Linux client, served over TLS with " +
    `Fashion-MNIST, reach ${sha256}, as this program and sotto simulate ${options} do.`);
}

function showCommand(list) {
  say("command", commandText(list));
  $("net-details").hidden = !file;
  if (file) say("net-text", netText());
  say("command-note", list.includes("--seed") ? "" : "Without a seed each run is another one: no two digests are alike.");
}

async function train(event) {
  event?.preventDefault();
  if (worker || !program) return;
  const list = options();
  const files = file ? [{name: file.name, bytes: file.bytes},
                        {name: kNetFile, bytes: new TextEncoder().encode(netText())}] : [];
  const rounds = [];
  let all = 1, end = null;
  setRunning(true);
  clearResults();
  showCommand(list);
  setState("Preparing", "is-waiting");
  const {status, errors} = await start(["simulate", ...list], files, event => {
    if (event.rounds) all = event.rounds;
    if (event.event === "begin") setState("Training", "is-running");
    if (event.event === "round") {
      addRound(rounds, event);
      if (event.privacy) say("privacy", privacyText(event.privacy));
    }
    if (event.event === "end") end = event;
    draw(rounds, all);
  });
  setRunning(false);
  if (status === "stopped") return setState("Stopped");
  if (!end) {
    complain(errors || `the program ended with status ${status}`);
    return setState("Not trained");
  }
  complain([errors, ...end.warnings].filter(text => text).join("\n"));
  setState(end.accuracy === null ? "Trained" : `Trained: ${percent(end.accuracy)} right`);
  say("progress-text", `${rounds.length} of ${all} rounds in ${end.wall_seconds.toFixed(1)} s`);
  say("privacy", privacyText(end));
  say("digest", end.parameters_sha256);
  say("report", end.text.trim());
  $("report-details").hidden = false;
  if (end.seed !== null) compare(list, end.parameters_sha256);
}

function showNets(nets) {
  $("net").replaceChildren(...nets.map(([name, about]) => make("option", {value: name}, about)));
}

function useMadeUp() {
  file = null;
  showNets(kNets);
  say("data-name", "Made-up images, 28 x 28 in 10 classes");
  say("notes", "");
  $("made-up").hidden = $("file-options").hidden = true;
  $("file").value = "";
  for (const [id, , by_default] of kFields) $(id).value = by_default;
}

// Reads a file of the user, and proposes a fleet that it suffices for.
async function useFile(chosen) {
  if (!chosen || !program) return;
  worker?.end("stopped");
  const next = {name: chosen.name.replace(/[^\x20-\x7e]|\//g, "_"), bytes: new Uint8Array(await chosen.arrayBuffer())};
  if (next.name === kNetFile) next.name = `my-${kNetFile}`;
  file = next;
  $("file-options").hidden = false;
  $("made-up").hidden = false;
  await lookAtFile(true);
}

async function lookAtFile(proposes) {
  clearResults();
  say("data-name", file.name);
  say("notes", "");
  setState("Reading the file", "is-waiting");
  let shape = null;
  setRunning(true);
  const {status, errors} = await start(["look", "--data", dataText()], [file], event => { shape = event; });
  setRunning(false);
  if (status === "stopped") return false;
  if (!shape || !shape.classes) {
    complain(errors || `${file.name}: it has no classes; name the column of the label: label=NAME`);
    setState("Not read");
    return false;
  }
  file.shape = shape;
  const chosen = $("net").value;
  showNets(kNetsOfFiles);
  if (kNetsOfFiles.some(([name]) => name === chosen)) $("net").value = chosen;
  say("data-name", `${file.name}: ${shape.samples} samples of ${shape.inputs} numbers, ${shape.classes} classes`);
  if (proposes) {
    $("samples").value = "10";
    $("devices").value = `${Math.max(1, Math.min(1000, Math.floor(shape.samples / 10)))}`;
  }
  setState("Ready to train");
  complain(errors);
  say("notes", shape.notes.trim());
  return true;
}

async function onSubmit(event) {
  event.preventDefault();
  if (worker) return;
  if (file && !await lookAtFile(false)) return;
  train();
}

async function copyCommand() {
  try {
    await navigator.clipboard.writeText($("command").textContent);
    say("copy", "Copied");
    setTimeout(() => say("copy", "Copy"), 1500);
  } catch {
    getSelection().selectAllChildren($("command"));  // for the user's own copy
  }
}

async function unpack() {
  const text = atob($("program").textContent);
  const packed = Uint8Array.from(text, letter => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function begin() {
  $("charts").append(...kCharts.map(chart => chart.figure));
  useMadeUp();
  draw([], 1);
  $("settings").addEventListener("submit", onSubmit);
  $("stop").addEventListener("click", () => worker?.end("stopped"));
  $("made-up").addEventListener("click", useMadeUp);
  $("file").addEventListener("change", () => useFile($("file").files[0]));
  $("copy").addEventListener("click", copyCommand);
  for (const name of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(name, event => {
      event.preventDefault();
      $("data").classList.toggle("over", name === "dragover");
      if (name === "drop") useFile(event.dataTransfer.files[0]);
    });
  }
  try {
    program = await unpack();
  } catch (error) {
    $("unusable").hidden = false;
    say("unusable", `This browser cannot unpack or run the program (${error.message}). It takes one of 2023 or later.`);
    setState("Not loaded");
    return;
  }
  showBoards();
  train();  // a double click shows a trained net
}

begin();
