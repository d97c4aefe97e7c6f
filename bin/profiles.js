#!/usr/bin/env node
'use strict';
const { load } = require('./load.js');

/**
 * Prints the error for too many open files. The module that prints errors cannot be loaded then, because it
 * is a file, too.
 * @returns the exit code
 */
function report(error) {
  if (error?.code !== 'EMFILE' && error?.code !== 'ENFILE') throw error;
  const [message, hint] = [`too many open files (${error.code})`, 'allow more of them: ulimit -n 1024'];
  process.stderr.write(`profiles: ${message}\n  ${hint}\n`);
  if (process.argv.includes('--json')) {
    const details = { code: 'unexpected', message, hint, status: null, request_id: null };
    process.stderr.write(`${JSON.stringify({ error: details })}\n`);
  }
  return 1;
}

const run = async () => load('main.cjs').main(process);
void run()
  .catch(report)
  .then((code) => {
    process.exitCode = code;
  });
