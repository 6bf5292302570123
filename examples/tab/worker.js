// The worker of sotto-tab.html: it runs the program once, and says what the program writes. In front of it the build
// puts Emscripten's part, which has the function SottoTab(). A message to it:
//   wasm       the program, an ArrayBuffer
//   files      [{name, bytes}] that the program may read
//   options    the command line
// Its messages: {line} of standard output, {error} of standard error, {status} at the end.
"use strict";

async function run({wasm, files, options}) {
  let status = 1;
  try {
    const program = await SottoTab({
      wasmBinary: wasm, noInitialRun: true,
      print: line => postMessage({line}), printErr: error => postMessage({error}),
      quit: (code, stop) => { status = code; throw stop; },
    });
    for (const {name, bytes} of files) program.FS.writeFile(name, bytes);
    status = program.callMain(options) ?? status;
  } catch (error) {
    if (error?.name !== "ExitStatus") postMessage({error: `the program stopped: ${error?.message ?? error}`});
  }
  postMessage({status});
}

onmessage = event => run(event.data);
