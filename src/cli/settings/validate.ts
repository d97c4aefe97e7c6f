/** JSON text to a checked config, with errors that name the key. */
import { ConfigError } from '../../engine/errors.js';
import type { ConfigFile } from './schema.js';

/**
 * Checks the text of a config file, which is JSON. The schema is loaded only here: a machine without a config
 * file does not wait for it.
 * @throws ConfigError naming the key, and for an unknown one the nearest known
 */
export async function parseConfig(path: string, text: string): Promise<ConfigFile> {
  const raw: unknown = JSON.parse(text, (key, value) => {
    // zod's records silently drop this key.
    if (key === '__proto__') throw new ConfigError(`${path}: "__proto__" cannot be a name`);
    return value;
  });
  const { fileSchema } = await import('./schema.js');
  const result = fileSchema.safeParse(raw);
  if (result.success) return result.data as ConfigFile;
  const issue = result.error.issues[0]!;
  const at = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    const { nearestKey } = await import('./keys.js');
    const unknown = [...at, issue.keys[0]!];
    const like = nearestKey(unknown);
    throw new ConfigError(`${path}: unknown key "${unknown.join('.')}"`, {
      hint: like ? `did you mean "${like}"?` : 'profiles help config lists the keys',
    });
  }
  const message = issue.code === 'invalid_key' ? issue.issues[0]!.message : issue.message;
  const reason = message.replace(/^Invalid (input|option): /, '');
  throw new ConfigError(`${path}: ${at.length > 0 ? `"${at.join('.')}": ` : ''}${reason}`, {
    hint: 'profiles help config lists the keys and their values',
  });
}
