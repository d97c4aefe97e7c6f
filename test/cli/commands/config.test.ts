/** `profiles config` at a terminal, key by key. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratch } from '../../support/cli.js';
import { atTerminal } from './terminal.js';

const TOKEN = 'key-0123456789-abcd';
const below = (cwd: string): string => join(cwd, '.config', 'profiles', 'config.json');
const read = (cwd: string): unknown => JSON.parse(readFileSync(below(cwd), 'utf8'));

const FILE = '~/.config/profiles/config.json';
const EU = { base_url: 'https://eu.example.com', lookup_base_url: 'https://eu-lookups.example.com' };

describe('at a terminal', () => {
  const ASK = 'API key (hidden): ';
  const typing: [string, string, string][] = [
    ['typed', `${TOKEN}\r`, TOKEN],
    [
      'pasted, with the marks that terminals put around pasted text',
      `\u001b[200~${TOKEN}\u001b[201~\r`,
      TOKEN,
    ],
    ['with a slip that is taken back', `x\u007fy\b${TOKEN}z\u007f\r`, TOKEN],
    ['begun again with Ctrl-U', `wrong\u0015${TOKEN}\n`, TOKEN],
    ['begun again with Ctrl-W', `wrong\u0017${TOKEN}\n`, TOKEN],
    ['with arrow keys and a function key in between', `key-01234\u001b[D\u001b[C\u001bOP56789-abcd\r`, TOKEN],
    ['with more typed ahead', `${TOKEN}\rrm -rf\r`, TOKEN],
  ];
  it.each(typing)('a hidden answer %s', async (_, type, token) => {
    const cwd = scratch();
    const session = await atTerminal(['config', 'set', 'token'], [{ at: ASK, type }], { cwd });
    expect(session.code).toBe(0);
    expect(read(cwd)).toEqual({ token });
    expect(session.screen.replaceAll(cwd, '~')).toBe(`${ASK}\ntoken = …abcd in ${FILE}\n`);
    expect(session.raw).toBe(false);
  });

  it('Ctrl-C ends it, restores the terminal, and writes nothing', async () => {
    const cwd = scratch();
    const session = await atTerminal(['config', 'set', 'token'], [{ at: ASK, type: 'key\u0003' }], { cwd });
    expect(session).toMatchObject({ code: 130, raw: false });
    expect(session.screen).not.toContain('key\u0003');
    expect(existsSync(below(cwd))).toBe(false);
  });
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    // A terminal that is closed ends a question like Ctrl-C.
    ['SIGHUP', 130],
  ])('%s ends it too', async (signal, code) => {
    const stop = new AbortController();
    const asked = atTerminal(['config', 'set', 'token'], [], { stop });
    setImmediate(() => stop.abort(signal));
    expect(await asked).toMatchObject({ code, raw: false });
  });
  it('Ctrl-D ends it like Ctrl-C', async () => {
    const session = await atTerminal(['config', 'set', 'token'], [{ at: ASK, type: '\u0004' }]);
    expect(session).toMatchObject({ code: 130, raw: false });
  });

  const REGION = 'Region (default, eu, sandbox, or your own) [default]: ';
  it('init takes answers that are pasted all at once', async () => {
    const cwd = scratch();
    const type = `eu\nhttps://eu.example.com\nhttps://eu-lookups.example.com\n${TOKEN}\n`;
    const session = await atTerminal(['config', 'init'], [{ at: REGION, type }], { cwd });
    expect(session.code).toBe(0);
    expect(read(cwd)).toEqual({ region: 'eu', regions: { eu: EU }, token: TOKEN });
  });
});
