/** `config init`: the config file from flags, from questions at a terminal, or from both. */

import { Exit, type ExitCode, UsageError } from '../../../engine/errors.js';
import type { Context } from '../../context.js';
import { writeJson } from '../../output/write.js';
import { hostLines } from '../../settings/index.js';
import { parseKey, type Scalar } from '../../settings/keys.js';
import { parseValue } from '../../settings/schema.js';
import { Dialogue } from './dialogue.js';
import { openPrompt } from './prompt.js';
import { canAsk, change, hostValue, openConfig, say, shown } from './store.js';

/** Existing values are kept, unless a flag or an answer replaces them. */
export async function init(context: Context): Promise<ExitCode> {
  const config = await openConfig(context);
  const prompt = canAsk(context) ? openPrompt(context) : null;
  const dialogue = new Dialogue(config.content, prompt, context);
  if (prompt) say(context, `Writing ${config.path}. Press Enter to keep the value in [brackets].`);
  const region = await askAll(dialogue, context);
  const content = await change(config, dialogue.answers);
  await report(config.path, region, new Dialogue(content, null, context), context);
  return Exit.done;
}

/** Returns the region. */
async function askAll(dialogue: Dialogue, context: Context): Promise<string> {
  const { flags } = context;
  const region =
    (await dialogue.settle({
      name: 'region',
      given: flags.region,
      question: 'Region (default, eu, sandbox, or your own)',
      fallback: 'default',
      check: (text) => parseValue(parseKey('region'), text),
    })) ?? 'default';
  const hosts = [
    { key: 'base_url', given: flags.baseUrl, question: 'Host for imports and jobs' },
    { key: 'lookup_base_url', given: flags.lookupBaseUrl, question: 'Host for lookup lists' },
  ];
  if (region === 'sandbox') {
    if (hosts.every(({ given }) => given === undefined)) return region;
    throw new UsageError('region sandbox is embedded and has its own hosts', {
      hint: 'leave out --base-url and --lookup-base-url',
    });
  }
  for (const { key, given, question } of hosts) {
    const name = `regions.${region}.${key}`;
    await dialogue.settle({
      name,
      given,
      question: `${question} (https://…)`,
      check: (text) => hostValue(text, name, context),
    });
  }
  await dialogue.settleToken();
  return region;
}

/** Says what the file now holds, and what is still missing. */
async function report(path: string, region: string, written: Dialogue, context: Context): Promise<void> {
  const { account } = context.flags;
  const tokenKey = account === undefined ? 'token' : `accounts.${account}.token`;
  const host = (key: string): Scalar | null =>
    region === 'sandbox' ? null : (written.current(`regions.${region}.${key}`) ?? null);
  const token = written.own('token');
  const result = {
    path,
    account: account ?? null,
    region,
    base_url: host('base_url'),
    lookup_base_url: host('lookup_base_url'),
    token: token === undefined ? null : shown('token', token),
  };
  say(context, `wrote ${path}`);
  if (region !== 'sandbox') {
    const [base, lookup] = hostLines(region, context.commands);
    if (!result.base_url) context.warn(`region "${region}" has no host yet; run: ${base}`);
    if (!result.lookup_base_url) context.warn(`region "${region}" has no lookup host yet; run: ${lookup}`);
    if (!result.token)
      context.warn(`no token is set yet; run: ${context.commands.command('config', 'set', tokenKey)}`);
  }
  say(context, `check it with: ${context.commands.command('doctor')}`);
  if (context.flags.json) await writeJson(context.stdout, JSON.stringify(result));
}
