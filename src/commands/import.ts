/** `profiles import <file...>`: plan, then send (contract §3). */
import type { Command } from 'commander';
import type { Context } from '../context.js';
import type { ExitCode } from '../errors.js';
import type { ImportOptions } from '../flow/options.js';
import { examples, type Flags, type Wire } from './command.js';
import { importOptions, sendingFlags } from './import-flags.js';
import { type Form, formOf, runAndReport } from './import-run.js';
import { readingFlags } from './reading-flags.js';

export function define(command: Command, wire: Wire): void {
  command.argument('<file...>', 'CSV, TSV, JSON or JSON Lines; - is stdin');
  readingFlags(command);
  sendingFlags(command);
  examples(command, [
    'profiles import companies.csv --region sandbox',
    'profiles import companies.csv users.csv --dry-run --region sandbox',
    'profiles import users.ndjson --changed-only --json --region sandbox',
  ]);
  command.action(wire(options, run));
}

async function options(
  paths: readonly string[],
  flags: Flags,
  context: Context,
): Promise<{ import: ImportOptions; form: Form }> {
  return { import: await importOptions(paths, flags, context), form: formOf(flags) };
}

async function run(options: { import: ImportOptions; form: Form }, context: Context): Promise<ExitCode> {
  return runAndReport(options.import, null, options.form, context);
}
