/** `profiles help config` (contract §2). The keys and their descriptions are those of the schema. */
import { knownKeys, parseKey } from '../../settings/keys.js';
import { paragraph, twoColumns } from './layout.js';

export function config(): string {
  const rows = knownKeys([])
    .filter((key) => !key.startsWith('accounts.'))
    .map((key) => [key, parseKey(key.replace('<name>', 'x')).schema.description ?? ''] as const);
  return `Config file

${paragraph(`It is JSON, at --config, else $PROFILES_CONFIG, else $XDG_CONFIG_HOME/profiles/config.json
(~/.config/profiles/config.json; on Windows %APPDATA%\\profiles\\config.json). It is written with
mode 0600; one that holds a token and that others can read is refused.`)}

${twoColumns([...rows, ['accounts.<name>.<key>', 'Any of these for one account, chosen by --account, PROFILES_ACCOUNT or the key account.']])}

${paragraph(`A flag goes before the environment, the environment before the file, an account's key before
the one at the top. The token at the top is not used for a named account. The region sandbox
needs no key at all.`)}

  profiles config init                 write it, asking at a terminal
  profiles config list                 each value, and where it came from
  profiles config set token < file     a token never stands on the command line
  profiles config set regions.eu.base_url https://api.example.com

profiles config --help shows all its commands.`;
}
