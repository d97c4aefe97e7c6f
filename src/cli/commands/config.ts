/**
 * `profiles config`: reads and writes the config file (contract §2). Each subcommand is implemented in
 * `config/`.
 */
import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { Exit, type ExitCode } from '../../engine/errors.js';
import type { Context } from '../context.js';
import { CONFIG_INIT, valuesOf } from '../options/index.js';
import { writeJson, writeLine } from '../output/write.js';
import { configLocation } from '../settings/sources.js';
import { examples, requireSubcommand, type Wire } from './command.js';
import { init } from './config/init.js';
import { list } from './config/list.js';
import { get, set, setOptions, unset } from './config/values.js';
import { readListing } from './listing.js';

export function define(command: Command, wire: Wire): void {
  examples(requireSubcommand(command, wire), [
    'profiles config init',
    'profiles config list',
    'profiles config set region eu',
  ]);

  examples(command.command('init').description('write the config file, from prompts, flags, and stdin'), [
    'profiles config init',
    'profiles config init --region eu --base-url https://api.example.com',
    'profiles config init --account staging --region sandbox',
  ]).action(wire((_, flags) => valuesOf(CONFIG_INIT, flags), init));

  examples(command.command('list').description('show each value and where it came from'), [
    'profiles config list',
    'profiles config list --json',
  ]).action(wire((_, flags) => readListing(flags), list));

  examples(
    command
      .command('get')
      .description('print one value (for a token, only its last four characters)')
      .argument('<key>', 'such as region or regions.eu.base_url'),
    ['profiles config get region', 'profiles config get region --json'],
  ).action(wire(([key]) => key!, get));

  examples(
    command
      .command('set')
      .description('set one value; prompts for a token, or reads it from stdin')
      .argument('<key>', 'such as region or import.chunk_size')
      .argument('[value]', 'the new value; leave it out for a token'),
    [
      'profiles config set region eu',
      'profiles config set regions.eu.base_url https://api.example.com',
      'profiles config set import.chunk_size 1000',
      'profiles config set token < token.txt',
      `profiles config set token_command '["pass","show","profiles"]'`,
    ],
  ).action(wire((args, _, context) => setOptions(args, context), set));

  examples(
    command
      .command('unset')
      .description('remove one value, or a whole account or region')
      .argument('<key>', 'such as region or accounts.staging'),
    ['profiles config unset import.chunk_size', 'profiles config unset accounts.staging'],
  ).action(wire(([key]) => key!, unset));

  examples(command.command('path').description('print where the config file is'), [
    'profiles config path',
    'profiles config path --json',
  ]).action(
    wire(
      () => ({}),
      (_, context) => path(context),
    ),
  );
}

async function path(context: Context): Promise<ExitCode> {
  const { stdout, flags } = context;
  const { value, origin } = configLocation(context, flags);
  if (flags.json) await writeJson(stdout, JSON.stringify({ path: value, origin, exists: existsSync(value) }));
  else await writeLine(stdout, value);
  return Exit.done;
}
