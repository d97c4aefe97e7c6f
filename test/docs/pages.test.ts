/** What pages and examples say besides their blocks: messages, a server for tests, manifests. */
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { beforeEach, describe, expect, test } from 'vitest';
import { Exit } from '../../src/engine/errors.js';
import { cli, scratch } from '../support/cli.js';
import { zip } from '../support/zip.js';
import { codeOf, ROOT, read } from './documents.js';

/** From the rows `| *message* | what to do |`, without formatting. `…` stands for what differs from run to run. */
const quoted = [...read('docs/troubleshooting.md').matchAll(/^\| \*(.+?)\* \|/gm)].map(([, text]) => text!);

let cwd: string;
const put = (name: string, content: string | Buffer): void => writeFileSync(join(cwd, name), content);
beforeEach(() => {
  cwd = scratch();
});

/** What ends with exit code 2, in the order of the page. */
const FAILURES: [string, () => Promise<string[]>][] = [
  [
    'no identifier',
    async () => {
      put('plain.csv', 'id,name\n1,Acme\n');
      return ['import', 'plain.csv', '--region', 'sandbox'];
    },
  ],
  [
    'another encoding',
    async () => {
      put('firms.csv', Buffer.from('company_id,name\nc1,M\xfcller\n', 'latin1'));
      return ['inspect', 'firms.csv'];
    },
  ],
  [
    'an archive of two files',
    async () => {
      const content = 'company_id\nc1\n';
      put(
        'export.zip',
        zip([
          { name: 'a.csv', content },
          { name: 'b.csv', content },
        ]),
      );
      return ['import', 'export.zip', '--region', 'sandbox'];
    },
  ],
  [
    'an input that changed before it was resumed',
    async () => {
      put('firms.csv', 'company_id\nc1\n');
      const argv = ['import', 'firms.csv', '--region', 'sandbox', '--wait', '1ms'];
      expect(await cli(argv, { cwd })).toMatchObject({ code: 3 });
      put('firms.csv', 'company_id\nc2\n');
      return ['resume', '--region', 'sandbox'];
    },
  ],
  [
    'a region without a host',
    async () => {
      put('firms.csv', 'company_id\nc1\n');
      return ['import', 'firms.csv'];
    },
  ],
];

test('each message has a failure here', () => {
  expect(quoted).toHaveLength(FAILURES.length);
});

test.each(FAILURES)('%s', async (name, prepare) => {
  const argv = await prepare();
  const { code, stderr } = await cli(argv, { cwd });
  expect(code).toBe(2);
  const pattern = quoted[FAILURES.findIndex(([other]) => other === name)]!.split('…')
    .map((part) => part.replace(/[^\w ]/g, '\\$&'))
    .join('\\S+');
  expect(stderr).toMatch(new RegExp(pattern));
});

test('two servers for tests run at the same time', async () => {
  const command = codeOf('docs/sandbox.md').find((code) => /^profiles sandbox .*--control-port 0/.test(code));
  const argv = command!.split(' ').slice(1);
  const stop = new AbortController();
  const servers = [0, 1].map(() => {
    const stdout = new PassThrough();
    const stderr = new PassThrough();
    stderr.resume();
    return {
      printed: once(stdout, 'data'),
      ended: cli(argv, { streams: { stdout, stderr }, stop: stop.signal }),
    };
  });
  await Promise.all(servers.map(({ printed, ended }) => Promise.race([printed, ended])));
  stop.abort('SIGINT');
  const codes = await Promise.all(servers.map(async ({ ended }) => (await ended).code));
  expect(codes).toEqual([0, 0]);
});

const FOLDER = join(ROOT, 'examples/kubernetes');
const manifests = readdirSync(FOLDER).map(
  (name) => [name, readFileSync(join(FOLDER, name), 'utf8')] as const,
);
const environment = read('docs/reference.md');

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
