#!/usr/bin/env node
'use strict';
const { closeSync, fstatSync } = require('node:fs');
const { isatty } = require('node:tty');

/**
 * The exit code, error code, message, and hint of what keeps the program from starting: its module that prints errors
 * cannot be loaded then. Other errors are thrown on.
 */
function failureOf(error) {
  if (error?.code === 'EMFILE' || error?.code === 'ENFILE')
    return [1, 'unexpected', `too many open files (${error.code})`, 'allow more of them: ulimit -n 1024'];
  if (error?.syscall === 'uv_cwd') {
    const { code } = error;
    return code === 'ENOENT'
      ? [2, 'usage', `the current folder no longer exists (${code})`, 'change to one that does: cd']
      : [2, 'usage', `the path of the current folder cannot be read (${code})`, 'change to another one: cd'];
  }
  throw error;
}

function report(error) {
  const [exit, code, message, hint] = failureOf(error);
  process.stderr.write(`profiles: ${message}\n  ${hint}\n`);
  if (process.argv.includes('--json')) {
    const details = { code, message, hint, status: null, request_id: null };
    process.stderr.write(`${JSON.stringify({ error: details })}\n`);
  }
  return exit;
}

/** Node restores the settings of its terminal at the end, and aborts if that was closed: it leaves closed files alone. */
function leaveClosedTerminal() {
  for (const fd of [0, 1, 2]) {
    try {
      if (fstatSync(fd).isCharacterDevice() && !isatty(fd)) closeSync(fd);
    } catch {} // it is closed
  }
}

/** What a library still calls experimental is for its developers, not for whoever imports a file. */
function keepExperimentsQuiet() {
  const shown = process.listeners('warning');
  process.removeAllListeners('warning');
  process.on('warning', (warning) => {
    if (warning.name !== 'ExperimentalWarning') for (const show of shown) show.call(process, warning);
  });
}

process.once('exit', leaveClosedTerminal);
keepExperimentsQuiet();
const run = async () => require('./load.js').load('main.cjs').main(process);
void run()
  .catch(report)
  .then((code) => {
    process.exitCode = code;
  });
