/** Reads and checks the config file, and writes it completely or not at all (contract §2 "File"). */

import type { Stats } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { ConfigError, ProfilesError } from '../../engine/errors.js';
import { hasPassword } from '../../engine/state/location.js';
import { fileTrouble, noRoom } from '../../engine/util/file-trouble.js';
import { isTrusted, takeOver } from '../../engine/util/owner.js';
import { ensureFolder } from '../../engine/util/private-folder.js';
import { readSmallFile } from '../../engine/util/read-small-file.js';
import { replaceFile } from '../../engine/util/replace-file.js';
import { hinted } from '../advice/hint.js';
import { shellWord } from '../advice/shell.js';
import { type ConfigFile, keyHint, leaves } from './keys.js';
import type { ReadConfig, SettingsWorld } from './sources.js';

/**
 * Reads the config file. A missing file counts as empty.
 * @param named the flag or variable that names it, if any: then the file must exist
 * @throws ConfigError that names the line and column, or the key; InterruptedError
 */
export async function readConfig(
  path: string,
  { platform, stop }: Pick<SettingsWorld, 'platform' | 'stop'>,
  named?: string,
): Promise<ReadConfig> {
  const text = await readText(path, stop, named);
  if (text === null && named !== undefined) {
    const error = new ConfigError(`${path}: no such file (from ${named})`);
    throw hinted(error, { do: 'create it with', run: ['config', 'init'] });
  }
  if (text === null) return { path, exists: false, content: {}, mode: null };
  const content = await parseConfig(path, await parseJson(path, text));
  if (platform === 'win32') return { path, exists: true, content, mode: null };
  const found = await stat(path);
  for (const [parts, value] of leaves(content)) {
    const key = parts.at(-1);
    if (key === 'token') refuseExposed(path, found, { what: 'contains a token' });
    if (key === 'state' && hasPassword(String(value)))
      refuseExposed(path, found, { what: 'contains a password' });
    if (key === 'token_command')
      refuseExposed(path, found, { what: 'names a program to run (token_command)', closed: 'change' });
  }
  return { path, exists: true, content, mode: found.mode & 0o777 };
}

/** Reads a file of the settings; null if it is missing. @param from what names it @throws ConfigError; InterruptedError */
export async function readText(path: string, stop?: AbortSignal, from?: string): Promise<string | null> {
  try {
    return (await readSmallFile(path, stop)).toString().replace(/^\uFEFF/, '');
  } catch (error) {
    if (error instanceof ProfilesError) throw error;
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT') return null;
    throw new ConfigError(`${path}: ${fileTrouble(code)}${from ? ` (from ${from})` : ''}`, { cause: error });
  }
}

/**
 * Refuses a file that belongs to another user, or that others can read, or with `closed`, change.
 * @param what it holds, which is why
 * @throws ConfigError with the command that makes it private
 */
export function refuseExposed(
  path: string,
  found: Stats,
  { what, closed = 'read', otherwise = '' }: { what: string; closed?: 'read' | 'change'; otherwise?: string },
): void {
  const refuse = (why: string, command: string): never => {
    const hint = `${command} ${shellWord(path)}${otherwise}`;
    throw new ConfigError(`${path} ${what}, but ${why}`, { hint });
  };
  if (!isTrusted(found)) refuse(`it belongs to another user (${found.uid})`, takeOver(found));
  const mode = found.mode & 0o777;
  if ((mode & (closed === 'read' ? 0o077 : 0o022)) === 0) return;
  refuse(`other users can ${closed} it (mode ${mode.toString(8).padStart(4, '0')})`, 'chmod 600');
}

/**
 * Writes the file with mode 0600. New folders get 0700.
 * @throws ConfigError, OutputError
 */
export async function writeConfig(path: string, content: ConfigFile): Promise<void> {
  try {
    const target = await realpath(path).catch(() => resolve(path));
    ensureFolder(dirname(target));
    await replaceFile(target, `${JSON.stringify(content, null, 2)}\n`);
  } catch (error) {
    const full = noRoom(path, error);
    if (full) throw full;
    const why = fileTrouble((error as NodeJS.ErrnoException).code);
    throw new ConfigError(`${path}: cannot be written: ${why}`, { cause: error });
  }
}

/**
 * Parses a text. The message of `JSON.parse` is never shown: it quotes the text around the error, which may be the token.
 * @throws ConfigError that names line and column
 */
async function parseJson(path: string, text: string): Promise<unknown> {
  try {
    return JSON.parse(text, (key, value) => {
      // zod drops this key silently from records.
      if (key === '__proto__') throw new ConfigError(`${path}: "__proto__" cannot be a name`);
      return value;
    });
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const { jsonFault } = await import('./schema.js');
    const fault = new ConfigError(`${path}:${jsonFault(text)}`);
    throw hinted(fault, { do: 'fix it, or move the file away and run', run: ['config', 'init'] });
  }
}

/**
 * Checks the content of a config file. Only this loads the schema: without a config file, no command waits for it.
 * @throws ConfigError that names the key, and for an unknown key the nearest known one
 */
async function parseConfig(path: string, raw: unknown): Promise<ConfigFile> {
  const { fileSchema } = await import('./schema.js');
  const result = fileSchema.safeParse(raw);
  if (result.success) return result.data as ConfigFile;
  const issue = result.error.issues[0]!;
  const at = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    const unknown = [...at, issue.keys[0]!];
    throw new ConfigError(`${path}: unknown key "${unknown.join('.')}"`, { hint: keyHint(unknown) });
  }
  const message = issue.code === 'invalid_key' ? issue.issues[0]!.message : issue.message;
  const reason = message.replace(/^Invalid (input|option): /, '');
  throw new ConfigError(`${path}: ${at.length > 0 ? `"${at.join('.')}": ` : ''}${reason}`, {
    hint: 'profiles help config lists the keys and their values',
  });
}
