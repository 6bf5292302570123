// tab_node.js FOLDER [--file FILE]... [--folder FOLDER] [--repeat N] OPTION...
// Runs `simulate` of the program of the preset tab, FOLDER/bin/sotto-tab.js, in Node with these options and files; a
// folder keeps its name there. Prints the digest of the trained parameters and the seconds of one processor that the
// fastest of N runs took.
"use strict";
const fs = require("fs");
const path = require("path");

const words = process.argv.slice(2);
const folder = words.shift();
const files = [];
const folders = [];
let runs = 1;
for (; ["--file", "--folder", "--repeat"].includes(words[0]); words.splice(0, 2)) {
  if (words[0] === "--file") files.push(words[1]);
  else if (words[0] === "--folder") folders.push(words[1]);
  else runs = Number(words[1]);
}

const SottoTab = require(path.resolve(folder, "bin/sotto-tab.js"));
const wasmBinary = fs.readFileSync(path.join(folder, "bin/sotto-tab.wasm"));

async function once() {
  const lines = [];
  let status = 1;
  const program = await SottoTab({
    wasmBinary, noInitialRun: true, print: line => lines.push(line), printErr: line => console.error(line),
    quit: (code, stop) => { status = code; throw stop; },
  });
  for (const file of files) program.FS.writeFile(path.basename(file), fs.readFileSync(file));
  for (const each of folders) {
    program.FS.mkdirTree(each);
    for (const name of fs.readdirSync(each)) program.FS.writeFile(path.join(each, name), fs.readFileSync(path.join(each, name)));
  }
  const before = process.cpuUsage();
  try {
    status = program.callMain(["simulate", ...words]) ?? status;
  } catch (error) {
    if (error?.name !== "ExitStatus") throw error;
  }
  const {user, system} = process.cpuUsage(before);
  if (status !== 0) process.exit(status);
  const end = lines.map(line => JSON.parse(line)).find(({event}) => event === "end");
  return [end.parameters_sha256, (user + system) / 1e6];
}

(async () => {
  let least = Infinity, digest = "";
  for (let run = 0; run < runs; ++run) {
    const [sha256, seconds] = await once();
    digest = sha256;
    least = Math.min(least, seconds);
  }
  console.log(`${digest} ${least.toFixed(2)}`);
})();
