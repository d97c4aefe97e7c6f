/** The help of the program that the build writes, because making it takes as long as starting Node. */
import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { built, node } from '../support/child.js';
import { cli, scratch } from '../support/cli.js';

const ROOT = resolve(import.meta.dirname, '../..');

beforeAll(built);

it.each([undefined, 70, 80, 200])(
  'is what the source prints, on a terminal of %s columns',
  async (columns) => {
    expect(existsSync(join(ROOT, 'dist/help.txt'))).toBe(true);
    const preload = join(scratch(), 'terminal.cjs');
    const terminal = columns === undefined ? {} : { isTTY: true, columns };
    writeFileSync(preload, `Object.assign(process.stdout, ${JSON.stringify(terminal)});`);
    for (const word of ['--help', '-h']) {
      const command = ['--require', preload, join(ROOT, 'bin/profiles.js'), word];
      const { code, stdout } = await node(command, { cwd: ROOT }).ended;
      expect({ code, stdout }).toEqual({
        code: 0,
        stdout: (await cli([word], columns === undefined ? {} : { columns })).stdout,
      });
    }
  },
);
