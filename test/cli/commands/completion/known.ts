/** A machine that knows some things: a config file, and an input. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { scratch } from '../../../support/cli.js';

/** Its folder, with the config in `.config`. */
export function knownMachine(): string {
  const cwd = scratch();
  mkdirSync(join(cwd, '.config', 'profiles'), { recursive: true });
  const config = {
    token: 'key-0123456789-abcd',
    regions: { apac: { base_url: 'https://apac.example.com' } },
    accounts: { production: {}, proving: {} },
  };
  writeFileSync(join(cwd, '.config', 'profiles', 'config.json'), JSON.stringify(config), { mode: 0o600 });
  writeFileSync(join(cwd, 'companies.csv'), 'company_id\n');
  return cwd;
}
