/** `profiles state`: what is remembered, whether it is whole, and a copy of it. Each subcommand's work is in `state/`. */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { examples, headOnly, type Wire } from './command.js';
import { backup } from './state/backup.js';
import { check } from './state/check.js';
import { info } from './state/info.js';

export function define(command: Command, wire: Wire): void {
  examples(headOnly(command, wire), [
    'profiles state info',
    'profiles state check',
    'profiles state backup state-backup.db',
  ]);

  examples(
    command
      .command('info')
      .description('show which state is in use, what it holds, how old that is, and who holds its locks'),
    ['profiles state info', 'profiles state info --json'],
  ).action(
    wire(
      () => ({}),
      (_, context) => info(context),
    ),
  );

  examples(
    command.command('check').description('check that the database is whole and that its records agree'),
    ['profiles state check', 'profiles state check --json'],
  ).action(
    wire(
      () => ({}),
      (_, context) => check(context),
    ),
  );

  examples(
    command
      .command('backup')
      .description('copy the database as it stands at one moment, also while imports run')
      .argument('<file>', 'a new file; to restore it, put it into an empty directory as state.db'),
    ['profiles state backup state-backup.db', 'profiles state backup state-backup.db --json'],
  ).action(wire(([file], _, context) => resolve(context.cwd, file!), backup));
}
