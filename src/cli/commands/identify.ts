/** `profiles identify company|user <id>`: creates or updates one profile (contract §1; spec: Endpoints 2 and 3). */

import type { UsageError } from '../../engine/errors.js';
import { ID_FIELD, type Kind, SINGULAR } from '../../engine/model.js';
import * as reading from '../../engine/read/index.js';
import { exitOfProfile, identify, type Profile } from '../../engine/run/identify.js';
import { isObject } from '../../engine/util/json-object.js';
import { count } from '../../engine/util/numbers.js';
import { shellWord } from '../advice/shell.js';
import { COLUMNS, engineValues, given, OTHERS, RETRYING, usage, waitingIn } from '../options/index.js';
import { waiting } from '../output/display.js';
import { fieldsFor } from '../output/records.js';
import { safeLine } from '../output/terminal.js';
import { type Flags, print, type Spec } from './command.js';
import { confirmation, whereTo } from './confirm.js';

export const command: Spec = { commands: { company: identifyOf('companies'), user: identifyOf('users') } };

function identifyOf(kind: Kind): Spec {
  const run: Spec['run'] = async ({ words: [id = ''], flags }, context) => {
    const profile = profileOf(kind, id, flags);
    const how = waitingIn(flags);
    const { clock, abort, warn } = context;
    const odd = identifiersOf(profile)
      .filter(([, text]) => reading.isOdd(text))
      .map(([field, text]) => `${field}: ${reading.oddWords(text)}`);
    for (const warning of odd) warn(warning);
    const settings = await context.settings();
    const what = `${SINGULAR[kind]} ${safeLine(id)}, ${count(profile.metadata.size, 'key')}`;
    await (await confirmation(context))?.(`${what}\nto ${whereTo(settings)}`);
    const deps = {
      ...{ client: await context.client(), state: await context.state(), scope: await context.scope() },
      ...{ clock, random: Math.random, abort },
      onWait: ({ job_id }: { job_id: string }) =>
        warn(`waiting for job ${job_id}: it is unfinished, and contains ${id}`),
    };
    const retrying = engineValues(RETRYING, settings.importDefaults);
    const result = await waiting(`sending ${id}`, context, (stop) =>
      identify(profile, deps, { ...how, ...retrying, stop }),
    );
    const { warnings, job, id_field, status } = result;
    const fields = job ?? { [id_field]: result.id, status };
    await print(context, { ...result, warnings: [...odd, ...warnings] }, fieldsFor(context, fields));
    for (const warning of warnings) warn(warning);
    return exitOfProfile(result);
  };
  return { run };
}

/** @throws UsageError */
function profileOf(kind: Kind, id: string, flags: Flags): Profile {
  if (id === '') throw usage('the identifier is empty', `profiles identify ${SINGULAR[kind]} <id>`);
  const { company = null, ...values } = given({ ...OTHERS, set: COLUMNS.set }, flags);
  if (company === '')
    throw usage('--company: the identifier is empty', 'write --company <id>, or leave it out');
  for (const [key, value] of values.set ?? []) {
    if (key === ID_FIELD[kind])
      throw usage(`--set: "${key}" is the identifier, not metadata`, 'leave it out');
    const hint = `write --company ${shellWord(value)}`;
    if (key === ID_FIELD.companies) throw usage(`--set: "${key}" is the user's company, not metadata`, hint);
  }
  const profile = { kind, id, company, metadata: metadataOf(values) };
  for (const [field, text] of identifiersOf(profile)) {
    // A typed identifier may look like a missing value, such as `null`, but it must not be blank.
    const reason = reading.identifierCheck({ ...reading.NO_RULES, allowIds: [text] })(text, field);
    if (reason !== null) throw usage(reason, 'write the identifier as the service has it');
  }
  return profile;
}

const identifiersOf = ({ kind, id, company }: Profile): [field: string, text: string][] => [
  [ID_FIELD[kind], id],
  ...(company === null ? [] : [[ID_FIELD.companies, company] as [string, string]]),
];

interface Metadata {
  metadata?: string;
  set?: readonly (readonly [key: string, value: string])[];
  unset?: readonly string[];
}

/**
 * The metadata, as JSON text by key. `--set` and `--unset` override `--metadata`. A key to unset is sent as null, which
 * removes it. @throws UsageError
 */
function metadataOf({ metadata: json, set = [], unset = [] }: Metadata): Map<string, string> {
  const metadata = new Map(json === undefined ? [] : membersOf(json));
  for (const [key, value] of set) metadata.set(key, reading.jsonOfCell(value));
  for (const key of unset) {
    if (key === '') throw usage('--unset: the key is empty', 'write --unset <key>');
    if (set.some(([name]) => name === key))
      throw usage(`--set ${key} and --unset ${key} contradict each other`, 'leave out one of them');
    metadata.set(key, 'null');
  }
  return metadata;
}

/** The members of a JSON object, with their values as JSON text. @throws UsageError */
function membersOf(json: string): [key: string, value: string][] {
  const wrong = (what: string, hint = 'write --metadata \'{"plan":"gold"}\''): UsageError =>
    usage(`--metadata: ${what}`, hint);
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw wrong('not valid JSON');
  }
  if (!isObject(value)) throw wrong('not a JSON object');
  const loss = reading.lossIn(json);
  if (loss !== null) throw wrong(loss, 'correct the JSON');
  return Object.entries(value).map(([key, one]) => {
    const deep = reading.tooDeep(one);
    if (deep !== null) throw wrong(`${key} is nested too deeply`, 'make it flatter, or pass it as text');
    return [key, JSON.stringify(one)];
  });
}
