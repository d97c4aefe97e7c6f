#!/usr/bin/env node
import module from 'node:module';
import { fileURLToPath } from 'node:url';

// Node 22.1 and later can keep compiled code. It is kept in the package's own folder, where nobody can put code who
// could not change the program itself; where that folder cannot be written, nothing is kept.
module.enableCompileCache?.(fileURLToPath(new URL('../node_modules/.cache', import.meta.url)));

try {
  const { main } = await import('../dist/main.js');
  process.exitCode = await main(process);
} catch (error) {
  // Where no file can be opened, neither can the part of the program that says so.
  if (error?.code !== 'EMFILE' && error?.code !== 'ENFILE') throw error;
  const [message, hint] = [`too many open files (${error.code})`, 'allow more of them: ulimit -n 1024'];
  process.stderr.write(`profiles: ${message}\n  ${hint}\n`);
  if (process.argv.includes('--json')) {
    const details = { code: 'unexpected', message, hint, status: null, request_id: null };
    process.stderr.write(`${JSON.stringify({ error: details })}\n`);
  }
  process.exitCode = 1;
}
