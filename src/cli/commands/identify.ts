/**
 * `profiles identify company|user <id>`: creates or updates one profile (contract §1; spec: Endpoints 2 and
 * 3).
 */
import type { Command } from 'commander';
import { type ExitCode, UsageError } from '../../engine/errors.js';
import { exitOfProfile, identify, type Profile } from '../../engine/identify.js';
import { isObject } from '../../engine/json-object.js';
import { ID_FIELD, type Kind } from '../../engine/model.js';
import { count } from '../../engine/numbers.js';
import {
  DEFAULT_LIMITS,
  identifierCheck,
  inexactNumber,
  isOdd,
  jsonOfCell,
  lossIn,
  NO_RULES,
  oddWords,
  writtenAgain,
} from '../../engine/read/index.js';
import { shellWord } from '../advice/shell.js';
import type { Context } from '../context.js';
import { COLUMNS, engineValues, type Given, given, IDENTIFY, RETRYING } from '../options/index.js';
import { fieldsText } from '../output/record-text.js';
import { safeLine } from '../output/safe.js';
import { stylesOn } from '../output/style.js';
import { stopOnSignal, whileWaiting } from '../output/waiting.js';
import { writeJson, writeOut } from '../output/write.js';
import { examples, type Flags, requireSubcommand, type Wire } from './command.js';
import { confirmation, whereTo } from './confirm.js';
import { waitingIn } from './import-options.js';

interface Options {
  profile: Profile;
  wait: boolean;
  waitTimeoutMs: number | null;
}

export function define(command: Command, wire: Wire): void {
  examples(requireSubcommand(command, wire), [
    'profiles identify company c-100 --set plan=gold --region sandbox',
    'profiles identify user u-7 --company c-100 --set seats=3 --region sandbox',
  ]);
  examples(
    command.command('company').description('create or update one company').argument('<id>', 'company_id'),
    [
      'profiles identify company c-100 --set plan=gold --region sandbox',
      'profiles identify company c-100 --unset plan --region sandbox',
      'profiles identify company c-1 --metadata \'{"staff":12}\' --region sandbox',
    ],
  ).action(wire((words, flags) => options('companies', words, flags), run));

  examples(
    command
      .command('user')
      .description('create or update one user, and follow its job')
      .argument('<id>', 'user_id'),
    [
      'profiles identify user u-7 --company c-100 --set seats=3 --region sandbox',
      'profiles identify user u-7 --metadata \'{"vip":true}\' --region sandbox',
    ],
  ).action(wire((words, flags) => options('users', words, flags), run));
}

function options(kind: Kind, [id = '']: readonly string[], flags: Flags): Options {
  if (id === '')
    throw new UsageError('the identifier is empty', {
      hint: `profiles identify ${kind === 'users' ? 'user' : 'company'} <id>`,
    });
  const { company, ...metadata } = given({ ...IDENTIFY, set: COLUMNS.set }, flags);
  if (company === '') {
    throw new UsageError('--company: the identifier is empty', {
      hint: 'write --company <id>, or leave it out',
    });
  }
  for (const [key, value] of metadata.set ?? []) refuseIdentifier(kind, key, value);
  const profile = { kind, id, company: company ?? null, metadata: metadataOf(metadata) };
  for (const [field, text] of identifiersOf(profile)) {
    // A typed identifier may look like a missing value, such as `null`, but it must not be blank.
    const reason = identifierCheck({ ...NO_RULES, allowIds: [text] })(text, field);
    if (reason !== null) throw new UsageError(reason, { hint: 'write the identifier as the service has it' });
  }
  return {
    profile,
    ...waitingIn(flags),
  };
}

const identifiersOf = ({ kind, id, company }: Profile): [field: string, text: string][] => [
  [ID_FIELD[kind], id],
  ...(company === null ? [] : [[ID_FIELD.companies, company] as [string, string]]),
];

/** @throws UsageError for an identifier's key: it is not metadata */
function refuseIdentifier(kind: Kind, key: string, value: string): void {
  if (key === ID_FIELD[kind]) {
    throw new UsageError(`--set: "${key}" is the identifier, not metadata`, { hint: 'leave it out' });
  }
  if (key !== ID_FIELD.companies) return;
  throw new UsageError(`--set: "${key}" is the user's company, not metadata`, {
    hint: `write --company ${shellWord(value)}`,
  });
}

/**
 * The metadata, as JSON text by key. `--set` and `--unset` override `--metadata`. A key to unset is sent as
 * null, which removes it.
 * @throws UsageError
 */
function metadataOf({
  metadata: json,
  set = [],
  unset = [],
}: Given<typeof IDENTIFY & Pick<typeof COLUMNS, 'set'>>) {
  const metadata = new Map<string, string>();
  if (json !== undefined) {
    const given = jsonObject(json);
    for (const [key, value] of Object.entries(given)) {
      const text = writtenAgain(value, DEFAULT_LIMITS.maxDepth);
      if (text === null) {
        throw new UsageError(`--metadata: ${key} is nested too deeply`, {
          hint: 'make it flatter, or pass it as text',
        });
      }
      metadata.set(key, text);
    }
    const loss = lossIn(json, given, false);
    if (loss !== null) throw new UsageError(`--metadata: ${loss}`, { hint: 'correct the JSON' });
  }
  for (const [key, value] of set) metadata.set(key, jsonOfCell(value));
  for (const key of unset) {
    if (key === '') throw new UsageError('--unset: the key is empty', { hint: 'write --unset <key>' });
    if (set.some(([name]) => name === key)) {
      throw new UsageError(`--set ${key} and --unset ${key} contradict each other`, {
        hint: 'leave out one of them',
      });
    }
    metadata.set(key, 'null');
  }
  return metadata;
}

function jsonObject(text: string): Record<string, unknown> {
  const wrong = (what: string): UsageError =>
    new UsageError(`--metadata: ${what}`, { hint: 'write --metadata \'{"plan":"gold"}\'' });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw wrong('not valid JSON');
  }
  if (!isObject(value)) throw wrong('not a JSON object');
  const inexact = inexactNumber(text);
  if (inexact !== null) {
    throw new UsageError(`--metadata: the number ${inexact} cannot be represented exactly`, {
      hint: `quote it: "${inexact}"`,
    });
  }
  return value;
}

async function run({ profile, wait, waitTimeoutMs }: Options, context: Context): Promise<ExitCode> {
  const odd = identifiersOf(profile)
    .filter(([, text]) => isOdd(text))
    .map(([field, text]) => `${field}: ${oddWords(text)}`);
  for (const warning of odd) context.warn(warning);
  const ask = await confirmation(context);
  await ask?.(
    `${profile.kind === 'users' ? 'user' : 'company'} ${safeLine(profile.id)}, ${count(profile.metadata.size, 'key')}\nto ${whereTo(await context.settings())}`,
  );
  const deps = {
    client: await context.client(),
    state: await context.state(),
    scope: await context.scope(),
    clock: context.clock,
    random: Math.random,
    abort: context.abort,
    onWait: ({ job_id }: { job_id: string }) =>
      context.warn(`waiting for job ${job_id}: it is unfinished, and contains ${profile.id}`),
  };
  const { importDefaults } = await context.settings();
  const result = await whileWaiting(`sending ${profile.id}`, context, () =>
    stopOnSignal(context, (stop) =>
      identify(profile, deps, {
        stop,
        wait,
        waitTimeoutMs,
        ...engineValues(RETRYING, importDefaults),
      }),
    ),
  );
  await print({ ...result, warnings: [...odd, ...result.warnings] }, context);
  for (const warning of result.warnings) context.warn(warning);
  return exitOfProfile(result);
}

async function print(result: Awaited<ReturnType<typeof identify>>, context: Context): Promise<void> {
  const { stdout, env, flags } = context;
  if (flags.json) await writeJson(stdout, JSON.stringify(result, null, 2));
  else
    await writeOut(
      stdout,
      fieldsText(
        result.job ?? { [result.id_field]: result.id, status: result.status },
        stylesOn(stdout, env, flags),
      ),
    );
}
