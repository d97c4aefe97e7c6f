/** `profiles import <input...>`: plan, then send (contract §3). */
import type { Command } from 'commander';
import type { ExitCode } from '../../engine/errors.js';
import type { ImportOptions } from '../../engine/options.js';
import type { Context } from '../context.js';
import { type Ending, examples, type Flags, type Wire } from './command.js';
import type { Report } from './import-options.js';

interface Options {
  import: ImportOptions;
  report: Report;
  savePlan: string | undefined;
  mapping: readonly string[];
}

export function define(command: Command, wire: Wire): void {
  command.argument('<input...>', 'files, folders, patterns in quotes, https:// URLs; - is stdin');
  examples(command, [
    'profiles import companies.csv --region sandbox',
    'profiles import companies.csv users.csv --dry-run --region sandbox',
    'profiles import users.ndjson --changed-only --json --region sandbox',
  ]);
  command.action(wire(options, run));
}

/** Loads its modules only for an import, because help does not need them. */
async function options(paths: readonly string[], flags: Flags, context: Context): Promise<Options> {
  const { importOptions, mappingFiles, reportOf, savePlanOf } = await import('./import-options.js');
  const options = await importOptions(paths, flags, context);
  const savePlan = savePlanOf(options, flags);
  return {
    import: options,
    report: reportOf(flags, (await context.settings()).importDefaults),
    savePlan,
    mapping: mappingFiles(flags),
  };
}

async function run(
  { report, savePlan, mapping, ...options }: Options,
  context: Context,
): Promise<ExitCode | Ending> {
  const { runAndReport } = await import('./import-run.js');
  return runAndReport(options.import, null, report, context, { savePlan, reads: mapping });
}
