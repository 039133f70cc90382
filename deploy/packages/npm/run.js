// Runs a program of the package for this platform, with the same arguments, streams and signals.
"use strict";
const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const path = require("node:path");

module.exports = function run(name) {
  const platform = `@bethink/${process.platform}-${process.arch}`;
  let program;
  try {
    program = path.join(path.dirname(require.resolve(`${platform}/package.json`)), "bin", name);
  } catch {
    console.error(`error: there is no ${platform} package: bethink supports Linux and macOS on x64 and arm64`);
    console.error(" hint: if this is one of them, reinstall with optional dependencies (npm install --include=optional)");
    process.exit(1);
  }
  const argv = [program, ...process.argv.slice(2)];
  // Node.js 22.15 and later can become the program. Some of them warn that this is new.
  process.removeAllListeners("warning");
  if (process.execve) process.execve(program, argv, process.env);
  const child = spawn(program, argv.slice(1), { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    console.error(`error: could not run ${program}: ${error.message}`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
};
