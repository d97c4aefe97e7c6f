import { describe, expect, it } from 'vitest';
import { cli } from '../../support/cli.js';

describe('scripts', () => {
  it.each(['bash', 'zsh', 'fish', 'powershell'])('%s', async (shell) => {
    const { code, stdout, stderr } = await cli(['completion', shell]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('profiles completion complete');
    expect(stdout.endsWith('\n')).toBe(true);
    const json = await cli(['completion', shell, '--json']);
    expect(JSON.parse(json.stdout)).toEqual({ shell, script: stdout.replace(/\n$/, '') });
  });
});
