/** The hidden question in a real terminal, whose driver does the echoing. `npm test` builds before it tests. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { scratch } from '../../support/cli.js';
import { missing, openTerminal, type Terminal } from '../../support/pty.js';

const PROFILES = [process.execPath, fileURLToPath(new URL('../../../bin/profiles.js', import.meta.url))];
const TOKEN = 'key-0123456789-abcd';

const opened: Terminal[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((terminal) => terminal.close()));
});

async function open(words: string[]): Promise<{ terminal: Terminal; file: string }> {
  const home = scratch();
  const terminal = await openTerminal([...PROFILES, ...words], { columns: 100, env: { HOME: home } });
  opened.push(terminal);
  return { terminal, file: join(home, '.config', 'profiles', 'config.json') };
}

const asked = (question: string) => (lines: string[]) =>
  lines.some((line) => line.startsWith(`◆  ${question}`));

it.skipIf(missing.length > 0)(
  'config init: visible answers are echoed and can be edited, the key is not',
  async () => {
    const { terminal, file } = await open(['config', 'init']);
    await terminal.until('the region', asked('Region'));
    await terminal.press('x', 'x', 'BSpace', 'BSpace', 'eu', 'Enter');
    await terminal.until('the host', asked('Host for imports'));
    await terminal.press('https://eu.example.com', 'Enter');
    await terminal.until('the lookup host', asked('Host for lookup'));
    await terminal.press('https://lookups.example.com', 'Enter');
    await terminal.until('the key', asked('API key'));
    await terminal.press('wrong', 'BSpace', 'Left', 'C-e', 'C-u', TOKEN, 'Enter');
    expect(await terminal.exitCode()).toBe(0);

    const { region, regions, token } = JSON.parse(readFileSync(file, 'utf8'));
    expect({ region, regions, token }).toEqual({
      region: 'eu',
      regions: { eu: { base_url: 'https://eu.example.com', lookup_base_url: 'https://lookups.example.com' } },
      token: TOKEN,
    });
    const screen = (await terminal.scrollback()).join('\n');
    expect(screen).toMatch(/◇ {2}Region \(default, eu, sandbox, or your own\)\n│ {2}eu\n/);
    expect(screen).toMatch(/◇ {2}API key, hidden as you type \[none\]\n│ {2}▪+\n(?:│\n)?wrote /);
    expect(screen).not.toMatch(/key-|wrong/);
  },
);

it.skipIf(missing.length > 0)(
  'Ctrl-C at the hidden question: exit 130, and the terminal echoes again',
  async () => {
    const { terminal } = await open(['config', 'set', 'token']);
    await terminal.until('the key', asked('API key'));
    await terminal.press('half-a-key', 'C-c');
    expect(await terminal.exitCode()).toBe(130);
    await terminal.press('echoed');
    const screen = await terminal.until(
      'what is typed',
      (lines) => lines.at(-1)?.includes('echoed') === true,
    );
    expect(screen.join('\n')).not.toContain('half-a-key');
  },
);

it.skipIf(missing.length > 0)('Ctrl-C at a visible question: exit 130', async () => {
  const { terminal } = await open(['config', 'init']);
  await terminal.until('the region', asked('Region'));
  await terminal.press('C-c');
  expect(await terminal.exitCode()).toBe(130);
});
