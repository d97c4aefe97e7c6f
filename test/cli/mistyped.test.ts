/** What was mistyped is named, and so is what was meant: commands, flags, words, fields, keys. */
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/commands/index.js';
import TEXTS from '../../src/cli/commands/topics.json' with { type: 'json' };
import { VERSION } from '../../src/cli/main.js';
import { cli } from '../support/cli.js';

describe('habits from other programs lead to the right command', () => {
  it('every hint names an existing command', () => {
    const known = COMMANDS.map(({ name }) => name);
    for (const [word, hint] of Object.entries(TEXTS.commands)) {
      expect(known).not.toContain(word);
      for (const [, command] of hint.matchAll(/profiles (\w+)/g)) expect(known).toContain(command);
    }
  });
  it.each(['-v', '-V', 'version', '--version'])('%s prints the version', async (word) => {
    expect(await cli([word])).toEqual({ code: 0, stdout: `${VERSION}\n`, stderr: '' });
  });
});
