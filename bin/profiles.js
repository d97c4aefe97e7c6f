#!/usr/bin/env node
import module from 'node:module';
import { fileURLToPath } from 'node:url';

// Node 22.1 and later can keep compiled code. It is kept in the package's own folder, where nobody can put code who
// could not change the program itself; where that folder cannot be written, nothing is kept.
module.enableCompileCache?.(fileURLToPath(new URL('../node_modules/.cache', import.meta.url)));

const { main } = await import('../dist/main.js');
process.exitCode = await main(process);
