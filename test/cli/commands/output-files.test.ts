/** What an import writes goes into files of its own: one would replace the other after everything was sent. */
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { cli, scratch } from '../../support/cli.js';
import { environmentOf, test } from '../../support/sandbox.js';

function place(): string {
  const cwd = scratch();
  mkdirSync(join(cwd, 'out'));
  writeFileSync(join(cwd, 'in.csv'), 'company_id,name\nc1,Ada\n,Bob\n');
  return cwd;
}

const SEND = 'import in.csv --skip-invalid';

test.for([
  [`${SEND} --outcomes o.csv --report o.csv`, '--outcomes and --report both name o.csv'],
  [`${SEND} --rejects out/r.csv --outcomes ./out/../out/r.csv`, '--rejects and --outcomes both name'],
  [`${SEND} --report <cwd>/r.csv --rejects r.csv`, '--rejects and --report both name'],
  [`${SEND} --save-plan p --report p`, '--report and --save-plan both name p'],
  [`${SEND} --save-plan p --rejects p`, '--rejects and --save-plan both name p'],
])('%s is refused before anything is sent', async ([line, message], { sandbox }) => {
  const cwd = place();
  const env = environmentOf(sandbox);
  const { code, stderr } = await cli(line!.replace('<cwd>', cwd).split(' '), { cwd, env });
  expect([code, stderr]).toEqual([2, expect.stringContaining(message!)]);
  expect(sandbox.ledger()).toEqual([]);
  expect(existsSync(join(cwd, 'in.rejects.csv'))).toBe(false);
});

test.for(['/dev/null', 'out'])(
  '--rejects %s is no file, and the rows would be lost',
  async (path, { sandbox }) => {
    const options = { cwd: place(), env: environmentOf(sandbox) };
    const { code, stderr } = await cli([...SEND.split(' '), '--rejects', path], options);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining(`${path}: rejected rows cannot be written here: it is not a regular file`),
    ]);
    expect(sandbox.ledger()).toEqual([]);
  },
);

test.for([
  ['loop/o.csv', 'leads in a circle'],
  [`${'o'.repeat(300)}.csv`, 'the name is too long'],
])('--outcomes %s is refused before anything is sent', async ([path, why], { sandbox }) => {
  const cwd = place();
  symlinkSync('loop', join(cwd, 'loop'));
  const { code, stderr } = await cli([...SEND.split(' '), '--outcomes', path!], {
    cwd,
    env: environmentOf(sandbox),
  });
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining('the outcomes of rows cannot be written here: '),
  ]);
  expect(stderr).toContain(why);
  expect(sandbox.ledger()).toEqual([]);
});

test('files of a plan, and of a run that is resumed, are compared too', async ({ start }) => {
  const sandbox = await start({ faults: ['401:nth=1'] });
  const cwd = place();
  const type = (line: string) => cli(line.split(' '), { cwd, env: environmentOf(sandbox) });
  expect((await type(`${SEND} --save-plan p.json`)).code).toBe(5);
  const applied = await type('apply p.json --outcomes o.csv --rejects o.csv');
  expect([applied.code, applied.stderr]).toEqual([
    2,
    expect.stringContaining('--rejects and --outcomes both name'),
  ]);
  expect((await type(`${SEND} --outcomes o.csv`)).code).toBe(4);
  const resumed = await type('resume --report o.csv');
  expect([resumed.code, resumed.stderr]).toEqual([
    2,
    expect.stringContaining('--outcomes and --report both name o.csv'),
  ]);
  expect((await type('resume --report o.html')).code).toBe(5);
});

/** The outcomes of rows are written last, over whatever has their name. */
test.for([
  ['--outcomes in.rejects.csv', 'the outcomes of rows cannot be written here: rejected rows of in.csv'],
  ['--outcomes in.rejects-2.csv', 'rejected rows of in.csv go to this file'],
  ['--outcomes here/in.rejects.csv', 'rejected rows of in.csv go to this file'],
  ['--report in.rejects.csv', 'the report cannot be written here: rejected rows of in.csv go to this file'],
  ['--mapping map.json --outcomes map.json', 'it is a file of this import'],
  ['--mapping map.json --report map.json', 'it exists, and is not a report'],
  ['--outcomes config.json', 'it is a file of this import'],
])('import %s is refused before anything is sent', async ([flags, message], { sandbox }) => {
  const cwd = place();
  symlinkSync('.', join(cwd, 'here'));
  writeFileSync(join(cwd, 'map.json'), '{"kind": "companies"}');
  writeFileSync(join(cwd, 'config.json'), '{}');
  const env = { ...environmentOf(sandbox), PROFILES_CONFIG: join(cwd, 'config.json') };
  const { code, stderr } = await cli(`${SEND} ${flags}`.split(' '), { cwd, env });
  expect([code, stderr]).toEqual([2, expect.stringContaining(message!)]);
  expect(sandbox.ledger()).toEqual([]);
  expect(existsSync(join(cwd, 'in.rejects.csv'))).toBe(false);
  expect(readFileSync(join(cwd, 'config.json'), 'utf8')).toBe('{}');
});

test('other files may have names that the rejects file does not use', async ({ sandbox }) => {
  const cwd = place();
  const free = '--outcomes in.rejects.ndjson --report out/in.rejects.csv --json';
  const { code, stderr } = await cli(`${SEND} ${free}`.split(' '), { cwd, env: environmentOf(sandbox) });
  expect([code, stderr]).toEqual([5, expect.anything()]);
  rmSync(join(cwd, 'in.rejects.csv')); // it holds rows, and would not be replaced
  const named = '--rejects r.csv --outcomes in.rejects.csv';
  expect((await cli(`${SEND} ${named}`.split(' '), { cwd, env: environmentOf(sandbox) })).code).toBe(5);
});

test.for([
  ['--outcomes p.json', 'it is a file of this import'],
  ['--report p.json', 'it exists, and is not a report'],
])('apply p.json %s leaves the plan', async ([flags, message], { sandbox }) => {
  const cwd = place();
  const type = (line: string) => cli(line.split(' '), { cwd, env: environmentOf(sandbox) });
  await type(`${SEND} --save-plan p.json`);
  const plan = readFileSync(join(cwd, 'p.json'), 'utf8');
  const { code, stderr } = await type(`apply p.json ${flags}`);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message!)]);
  expect(sandbox.ledger()).toEqual([]);
  expect(readFileSync(join(cwd, 'p.json'), 'utf8')).toBe(plan);
});
