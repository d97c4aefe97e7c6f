/** The manifests in `examples/kubernetes`: their commands are the command line's, and their variables are known. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Exit } from '../../src/engine/errors.js';
import { cli } from '../support/cli.js';

const FOLDER = resolve(import.meta.dirname, '../../examples/kubernetes');
const manifests = readdirSync(FOLDER).map(
  (name) => [name, readFileSync(join(FOLDER, name), 'utf8')] as const,
);
const environment = readFileSync(resolve(FOLDER, '../../docs/reference.md'), 'utf8');

/** The words of `args`, in one line or one below the other. */
function argsOf(manifest: string): string[] {
  const [, line] = /^ +args: \[(.*)\]$/m.exec(manifest) ?? [];
  const [, lines] = /^ +args:\n((?: +- .*\n)+)/m.exec(manifest) ?? [];
  const words =
    line?.split(',') ??
    lines
      ?.trimEnd()
      .split(/\n? +- /)
      .slice(1) ??
    [];
  return words.map((word) => word.trim().replaceAll('"', ''));
}

test('there are manifests', () => {
  expect(manifests.map(([name]) => name)).toEqual(['cronjob.yaml']);
});

describe.each(manifests)('%s', (_, manifest) => {
  test('its command is understood: only the files are not here', async () => {
    const [program, ...argv] = argsOf(manifest);
    expect(program).toBe('profiles');
    const path = argv.find((word) => word.startsWith('/'))!;
    const env = {
      PROFILES_TOKEN: 'tok_0123456789',
      PROFILES_BASE_URL: 'https://api.example',
    };
    const { code, stderr } = await cli(argv, { env });
    expect(code).toBe(2);
    expect(stderr).toMatch(new RegExp(`${path}: .*no such file`));
  });

  test('its variables are documented', () => {
    const names = [...manifest.matchAll(/name: (PROFILES_\w+)/g)].map(([, name]) => name!);
    expect(names.length).toBeGreaterThan(4);
    for (const name of names) expect(environment).toContain(name);
  });

  test('each volume that is mounted is there, once', () => {
    const spec = manifest.slice(manifest.indexOf('volumeMounts:'), manifest.indexOf(' volumes:'));
    const volumes = manifest.slice(manifest.indexOf(' volumes:'));
    const mounted = [...spec.matchAll(/- { name: (\w+)/g)].map(([, name]) => name);
    expect([...volumes.matchAll(/- name: (\w+)/g)].map(([, name]) => name)).toEqual(mounted);
  });

  test('what a repetition would not change is not repeated', () => {
    const [, values] = /values: \[(.*)\]/.exec(manifest)!;
    const never = [Exit.usage, Exit.unauthorised, Exit.rejected, Exit.jobFailed];
    expect(values!.split(',').map(Number)).toEqual(never);
  });
});
